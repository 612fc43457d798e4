import { rowsReply } from "../http/json_reply.ts";
import { parseItems } from "../write/batch_items.ts";
import {
  createdResources,
  embeddedItems,
  lookedUpResources,
  type NestedRows,
  ownItems,
} from "../write/nested_rows.ts";
import {
  type CreatedRows,
  createNestedRows,
  type CreatePlan,
} from "../write/create_nested_rows.ts";
import type { Operation } from "../operation.ts";
import { noneIncluded } from "../output.ts";
import { itemPath } from "../write/body_path.ts";
import { parseNestedRows } from "../write/parse_nested_rows.ts";

/** `POST /batch`: creates a batch of rows, with the rows embedded in them, all or none. */
export const batchCreate: Operation<NestedRows, CreatePlan, CreatedRows> = {
  name: "batch-create",
  access: "create",
  takesBody: true,

  parse({ body }, resource) {
    const items = parseItems(body, resource.batch.create);
    return parseNestedRows(
      items.map((item, index) => ({ body: item, bodyPath: itemPath(index) })),
      resource,
    );
  },

  items: ownItems,
  embeddedItems,
  readsFrom: lookedUpResources,
  createsIn: createdResources,

  plan(body, grant, _resource, { created, related }) {
    return { body, grant, created, related, optimisticId: null };
  },

  async execute(plan, call) {
    if (plan.body.rows.length === 0) return { rows: [], included: noneIncluded };
    return await createNestedRows(plan, call);
  },

  shape({ rows, included }, _body, resource) {
    return rowsReply(201, rows, resource, included);
  },
};
