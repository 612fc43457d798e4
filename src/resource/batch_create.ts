import type { Grant } from "../auth/authorize.ts";
import { transact } from "../db/transact.ts";
import type { Row } from "../schema/table_info.ts";
import type { ColumnInfo } from "../schema/table_info.ts";
import { answerRows } from "./answer.ts";
import { eachItem, inTurn, readItems } from "./batch_body.ts";
import { insertRows } from "./batch_insert.ts";
import { beforeCreate } from "./before_hooks.ts";
import { readColumns } from "./input.ts";
import { newRow } from "./new_row.ts";
import type { Operation } from "./operation.ts";
import { itemPlace } from "./placed.ts";

interface NewItem {
  readonly index: number;
  readonly given: ReadonlyMap<ColumnInfo, unknown>;
}

interface BatchCreatePlan {
  readonly items: readonly NewItem[];
  readonly grant: Grant;
}

/** `POST /batch`: new rows, all of them or none. */
export const batchCreate: Operation<readonly NewItem[], BatchCreatePlan, readonly Row[]> = {
  name: "batch-create",
  access: "create",
  takesBody: true,

  parse({ body }, resource) {
    return eachItem(readItems(body, resource.batch.create), (item, index) => ({
      index,
      given: readColumns(item, resource),
    }));
  },

  plan(items, grant) {
    return { items, grant };
  },

  async execute({ items, grant }, call) {
    if (items.length === 0) return [];
    const write = { ...call, grant };
    const rows = await inTurn(
      items,
      async ({ given }) => newRow(await beforeCreate(given, write), grant, call.resource),
    );
    const places = items.map(({ index }) => itemPlace(index));
    return await transact(
      call.resource.driver,
      (connection) => insertRows(rows, places, write, connection),
    );
  },

  shape(rows, _items, resource) {
    return answerRows(201, rows, resource);
  },
};
