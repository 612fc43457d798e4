import type { Grant } from "../auth/authorize.ts";
import { formatKey, keyOf } from "../plan/key.ts";
import type { ColumnInfo, Row } from "../schema/table_info.ts";
import { answerRow } from "./answer.ts";
import { beforeCreate } from "./before_hooks.ts";
import { readColumns } from "./input.ts";
import { newRow } from "./new_row.ts";
import type { Operation } from "./operation.ts";
import { insertNamed, readOptimisticId } from "./optimistic_id.ts";
import { insertRow } from "./write_row.ts";
import { inWrite } from "./in_write.ts";

interface CreateIntent {
  readonly given: ReadonlyMap<ColumnInfo, unknown>;
  /** What the client calls the new row. */
  readonly optimisticId: string | null;
}

interface CreatePlan extends CreateIntent {
  readonly grant: Grant;
}

/** `POST /`: a new row. */
export const create: Operation<CreateIntent, CreatePlan, Row> = {
  name: "create",
  access: "create",
  takesBody: true,

  parse(request, resource) {
    const optimisticId = readOptimisticId(request);
    return { given: readColumns(request.body, resource), optimisticId };
  },

  plan(intent, grant) {
    return { ...intent, grant };
  },

  async execute({ given, optimisticId, grant }, call) {
    const write = { ...call, grant };
    const values = newRow(await beforeCreate(given, write), grant, call.resource);
    if (optimisticId !== null && call.resource.hub() !== null) {
      return await insertNamed(values, optimisticId, write);
    }
    return await inWrite(
      write,
      "onAfterCreate",
      (connection) => insertRow(values, write, connection),
    );
  },

  shape(row, { optimisticId }, resource) {
    const location = `${resource.url}/${formatKey(keyOf(row, resource.table))}`;
    return answerRow(201, row, resource, { headers: { location }, optimisticId });
  },
};
