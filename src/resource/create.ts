import type { Grant } from "../auth/authorize.ts";
import { fetchRows } from "../db/rows.ts";
import { transact } from "../db/transact.ts";
import { formatKey, keyOf } from "../plan/key.ts";
import type { Assignments, InsertPlan } from "../plan/plan.ts";
import type { Row } from "../schema/table_info.ts";
import { answer } from "./answer.ts";
import { completeRow, readColumns } from "./input.ts";
import type { Operation } from "./operation.ts";
import { presentRow } from "./output.ts";
import { requireWithin } from "./within_scope.ts";

interface CreatePlan {
  readonly insert: InsertPlan;
  readonly grant: Grant;
}

/** `POST /`: a new row. */
export const create: Operation<Assignments, CreatePlan, Row> = {
  name: "create",
  access: "create",
  takesBody: true,

  parse({ body }, resource) {
    return completeRow(readColumns(body, resource), resource);
  },

  plan(values, grant, { table }) {
    return { grant, insert: { kind: "insert", table, values, returning: table.columns } };
  },

  execute({ insert, grant }, resource) {
    const write = async (connection: Parameters<typeof fetchRows>[0]): Promise<Row> => {
      const { rows } = await fetchRows(connection, insert, resource.reader);
      const [row] = rows;
      if (row === undefined) throw new Error("An insert answered without its row");
      return row;
    };
    if (grant.rows.kind === "all") return write(resource.driver);
    return transact(resource.driver, async (connection) => {
      const row = await write(connection);
      await requireWithin(grant, row, connection, resource);
      return row;
    });
  },

  shape(row, _values, resource) {
    const key = formatKey(keyOf(row, resource.table));
    const headers = { location: `${resource.url}/${key}` };
    return answer(201, presentRow(row, resource.table.columns, resource.fields.readable), headers);
  },
};
