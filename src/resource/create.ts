import type { Grant } from "../auth/authorize.ts";
import { formatKey, keyOf } from "../plan/key.ts";
import type { ColumnInfo, Row } from "../schema/table_info.ts";
import { answerRow } from "./answer.ts";
import { beforeCreate } from "./before_hooks.ts";
import { readColumns } from "./input.ts";
import { newRow } from "./new_row.ts";
import type { Operation } from "./operation.ts";
import { insertRow } from "./write_row.ts";
import { inWrite } from "./in_write.ts";

/** `POST /`: a new row. */
export const create: Operation<ReadonlyMap<ColumnInfo, unknown>, CreatePlan, Row> = {
  name: "create",
  access: "create",
  takesBody: true,

  parse({ body }, resource) {
    return readColumns(body, resource);
  },

  plan(given, grant) {
    return { given, grant };
  },

  async execute({ given, grant }, call) {
    const write = { ...call, grant };
    const values = newRow(await beforeCreate(given, write), grant, call.resource);
    return await inWrite(
      write,
      "onAfterCreate",
      (connection) => insertRow(values, write, connection),
    );
  },

  shape(row, _given, resource) {
    const location = `${resource.url}/${formatKey(keyOf(row, resource.table))}`;
    return answerRow(201, row, resource, { location });
  },
};

interface CreatePlan {
  readonly given: ReadonlyMap<ColumnInfo, unknown>;
  readonly grant: Grant;
}
