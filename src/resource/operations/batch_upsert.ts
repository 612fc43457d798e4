import { parseKeyedItems } from "../write/values/batch_items.ts";
import { parseRow } from "../write/values/parse_fields.ts";
import { noOptimisticIds } from "../write/record_ids.ts";
import { parseUniqueKey, uniqueKeyParameter } from "../write/upsert/unique_key.ts";
import { type UpsertedRows, type UpsertPlan, upsertRows } from "../write/upsert/upsert_rows.ts";
import { rowsReply } from "../shape/output.ts";
import type { Operation } from "../model/operation.ts";

/**
 * `POST /batch/upsert`: updates the rows of a batch that exist, and creates the others. An existing
 * row is found by the primary key, or with `?on=email` by the unique key `email`.
 */
export const batchUpsert: Operation<
  Pick<UpsertPlan, "items" | "by">,
  UpsertPlan,
  UpsertedRows
> = {
  name: "upsert",
  access: "create",
  alsoAccess: "update",
  takesBody: true,

  ownParameters: () => uniqueKeyParameter,

  parse({ body, query }, resource) {
    const by = parseUniqueKey(query.get("on"), resource);
    const limit = resource.batch.create;
    return { by, items: parseKeyedItems(body, resource, { limit, by, parse: parseRow }) };
  },

  items: ({ items }) => items.length,

  plan(intent, create, { batch }, { also }) {
    if (also === null) throw new Error("An upsert needs the right to update as well");
    return { ...intent, create, update: also, isCounted: batch.incrementVersion };
  },

  async execute(plan, call) {
    return plan.items.length === 0
      ? { rows: [], recorded: noOptimisticIds, created: new Set() }
      : await upsertRows(plan, call);
  },

  shape(written, _intent, resource) {
    return rowsReply(200, written, resource);
  },
};
