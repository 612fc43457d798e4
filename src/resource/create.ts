import { formatKey, keyOf } from "../plan/key.ts";
import { answerRow } from "./answer.ts";
import { beforeCreate } from "./before_hooks.ts";
import { type BodyRow, type BodyRows, createdBy, foundBy } from "./body_rows.ts";
import type { Write } from "./call.ts";
import { type CreatedRows, createRows, type RowsPlan } from "./create_rows.ts";
import { inWrite } from "./in_write.ts";
import { newRow } from "./new_row.ts";
import type { Operation } from "./operation.ts";
import { noneIncluded } from "./output.ts";
import { wholeBody } from "./placed.ts";
import { readRows } from "./read_rows.ts";
import { insertRow } from "./write_row.ts";

/** `POST /`: a new row, with those that its body embeds. */
export const create: Operation<BodyRows, RowsPlan, CreatedRows> = {
  name: "create",
  access: "create",
  takesBody: true,

  parse({ body }, resource) {
    return readRows([{ body, place: wholeBody }], resource);
  },

  reaches: foundBy,
  creates: createdBy,

  plan(body, grant, _resource, { created, related }) {
    return { body, grant, created, related };
  },

  async execute(plan, call) {
    const { rows: [row], steps } = plan.body;
    return steps.length === 1 && row?.embedded.length === 0
      ? await createRow(row, { ...call, grant: plan.grant })
      : await createRows(plan, call);
  },

  shape({ rows: [row], included }, _body, resource) {
    if (row === undefined) throw new Error("A create gave no row");
    const location = `${resource.url}/${formatKey(keyOf(row, resource.table))}`;
    return answerRow(201, row, resource, { headers: { location }, included });
  },
};

/** A row that stands alone may be a single statement. */
async function createRow({ given }: BodyRow, write: Write): Promise<CreatedRows> {
  const values = newRow(await beforeCreate(given, write), write.grant, write.resource);
  const row = await inWrite(
    write,
    "onAfterCreate",
    (connection) => insertRow(values, write, connection),
  );
  return { rows: [row], included: noneIncluded };
}
