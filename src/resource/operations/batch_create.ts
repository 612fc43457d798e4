import { noneIncluded, rowsReply } from "../shape/output.ts";
import { loggedId, parseItemOptimisticId } from "../write/values/optimistic_id.ts";
import { mapItems, parseItems } from "../write/values/batch_items.ts";
import {
  lookedUpResources,
  type NestedRows,
  ownCount,
  relatedWrites,
} from "../write/nested/nested_rows.ts";
import {
  type CreatedRows,
  createNestedRows,
  type CreatePlan,
} from "../write/nested/create_nested_rows.ts";
import type { Operation } from "../model/operation.ts";
import { itemPath } from "../write/values/body_path.ts";
import { noOptimisticIds } from "../write/record_ids.ts";
import { parseNestedRows } from "../write/nested/parse/parse_nested_rows.ts";

interface BatchCreateIntent {
  readonly body: NestedRows;
  readonly ids: readonly (string | null)[];
}

/** `POST /batch`: creates all rows of a batch with their nested rows, or none of them. */
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

  items: ({ body }) => ownCount(body),
  readsFrom: ({ body }) => lookedUpResources(body),
  relatedWrites: ({ body }) => relatedWrites(body),

  plan({ body, ids }, grant, resource, { written, related }) {
    const carried = ids.map((id) => loggedId(id, resource));
    return { body, grant, written, related, updated: null, ids: carried };
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
