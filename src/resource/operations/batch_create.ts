import { answerRows } from "../http/json_reply.ts";
import { readItems } from "../write/batch_items.ts";
import { type BodyRows, createdBy, foundBy } from "../write/nested_rows.ts";
import { type CreatedRows, createRows, type RowsPlan } from "../write/create_nested_rows.ts";
import type { Operation } from "../operation.ts";
import { noneIncluded } from "../output.ts";
import { itemPlace } from "../write/body_path.ts";
import { readRows } from "../write/parse_nested_rows.ts";

/** `POST /batch`: new rows, with those that they embed, all of them or none. */
export const batchCreate: Operation<BodyRows, RowsPlan, CreatedRows> = {
  name: "batch-create",
  access: "create",
  takesBody: true,

  parse({ body }, resource) {
    const items = readItems(body, resource.batch.create);
    return readRows(
      items.map((item, index) => ({ body: item, place: itemPlace(index) })),
      resource,
    );
  },

  items: ({ count }) => count,
  reaches: foundBy,
  creates: createdBy,

  plan(body, grant, _resource, { created, related }) {
    return { body, grant, created, related, optimisticId: null };
  },

  async execute(plan, call) {
    if (plan.body.rows.length === 0) return { rows: [], included: noneIncluded };
    return await createRows(plan, call);
  },

  shape({ rows, included }, _body, resource) {
    return answerRows(201, rows, resource, included);
  },
};
