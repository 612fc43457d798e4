import { rowsReply } from "../http/json_reply.ts";
import { carriedId, parseItemOptimisticId } from "../http/optimistic_id.ts";
import { mapItems, parseItems } from "../write/batch_items.ts";
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
import { noOptimisticIds } from "../write/record_ids.ts";
import { parseNestedRows } from "../write/parse_nested_rows.ts";

interface BatchCreateIntent {
  readonly body: NestedRows;
  /** Of the items, in their order. */
  readonly ids: readonly (string | null)[];
}

/** `POST /batch`: creates a batch of rows, with the rows embedded in them, all or none. */
export const batchCreate: Operation<BatchCreateIntent, CreatePlan, CreatedRows> = {
  name: "batch-create",
  access: "create",
  takesBody: true,

  parse({ body }, resource) {
    const items = parseItems(body, resource.batch.create);
    const rows = items.map((item, index) => ({ body: item, bodyPath: itemPath(index) }));
    return {
      body: parseNestedRows(rows, resource),
      ids: mapItems(items, parseItemOptimisticId),
    };
  },

  items: ({ body }) => ownItems(body),
  embeddedItems: ({ body }) => embeddedItems(body),
  readsFrom: ({ body }) => lookedUpResources(body),
  createsIn: ({ body }) => createdResources(body),

  plan({ body, ids }, grant, resource, { created, related }) {
    const carried = ids.map((id) => carriedId(id, resource));
    return { body, grant, created, related, ids: carried };
  },

  async execute(plan, call) {
    if (plan.body.rows.length === 0) {
      return { rows: [], included: noneIncluded, recorded: noOptimisticIds };
    }
    return await createNestedRows(plan, call);
  },

  shape(created, _intent, resource) {
    return rowsReply(201, created, resource, created.included);
  },
};
