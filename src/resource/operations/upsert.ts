import { keyId, keyOf } from "../../plan/key.ts";
import { parsePrecondition } from "../http/etag.ts";
import { locationOf, rowReply, rowsReply } from "../shape/output.ts";
import { optimisticIdOf } from "../write/row_target.ts";
import type { Operation } from "../model/operation.ts";
import { parseKeyFields, requireObject } from "../write/values/parse_fields.ts";
import { parseItemOf, parseUniqueKey, uniqueKeyParameter } from "../write/upsert/sort_items.ts";
import { type UpsertedRows, type UpsertPlan, upsertRows } from "../write/upsert/upsert_rows.ts";
import { parseKeyedItems, wholeBody } from "../write/values/batch_items.ts";
import { noOptimisticIds } from "../write/record_ids.ts";

/** `POST /?on=email`: updates the row that has the body's `email` (200), or creates it (201). */
export const upsert: Operation<Pick<UpsertPlan, "items" | "by">, UpsertPlan, UpsertedRows> = {
  name: "create",
  access: "create",
  alsoAccess: "update",
  takesBody: true,

  ownParameters: () => uniqueKeyParameter,

  parse(request, resource) {
    const by = parseUniqueKey(request.query.get("on"), resource);
    const body = requireObject(request.body);
    const key = parseKeyFields(body, resource, by);
    const ifMatch = request.header("if-match");
    const item = {
      index: 0,
      bodyPath: wholeBody,
      key,
      values: parseItemOf(by)(body, resource),
      // A missing `If-Match` is no error yet: only the update of an existing row requires it.
      precondition: ifMatch === null ? null : parsePrecondition(ifMatch, resource),
      optimisticId: optimisticIdOf(request),
    };
    return { by, items: [item] };
  },

  plan(intent, create, _resource, { also }) {
    if (also === null) throw new Error("An upsert needs the right to update as well");
    return { ...intent, create, update: also, isCounted: true };
  },

  execute: upsertRows,

  shape({ rows: [row], created, recorded }, _intent, resource) {
    if (row === undefined) throw new Error("An upsert gave no row");
    const { table } = resource;
    const optimisticId = recorded.get(keyId(keyOf(row, table), table)) ?? null;
    return created.size === 0
      ? rowReply(200, row, resource, { optimisticId })
      : rowReply(201, row, resource, { headers: locationOf(row, resource), optimisticId });
  },
};

/** `POST /batch/upsert`: an existing row is found by the primary key, or by `?on=email`. */
export const batchUpsert: typeof upsert = {
  ...upsert,
  name: "upsert",

  parse({ body, query }, resource) {
    const by = parseUniqueKey(query.get("on"), resource);
    const limit = resource.batch.create;
    return { by, items: parseKeyedItems(body, resource, { limit, by, parse: parseItemOf(by) }) };
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
