import type { Grant } from "../../auth/authorize.ts";
import { Problem } from "../../problem/problem.ts";
import { writeJson } from "../../schema/exact_json.ts";
import type { ColumnInfo, Row } from "../../schema/table_info.ts";
import { parseBody } from "../http/request_body.ts";
import type { Operation, ResourceRequest } from "../model/operation.ts";
import type { Resource } from "../model/resource.ts";
import { noAdditionalGrants } from "../rights/related_grants.ts";
import { mayChange } from "../write/nested/foreign_keys.ts";
import type { UpdatedRows } from "../write/nested/write_nested_rows.ts";
import { optimisticIdOf, parsePathRow, planTarget } from "../write/row_target.ts";
import {
  invalidField,
  InvalidFields,
  parseRowChanges,
  requireObject,
} from "../write/values/parse_fields.ts";
import { update } from "./update.ts";
import { historyContext, visibleVersions } from "./visible_versions.ts";

type RevertIntent = ReturnType<typeof parseRevert>;

interface RevertPlan extends RevertIntent {
  readonly grant: Grant;
  readonly read: Grant;
}

/** `POST /:id/revert`: a PATCH with the fields of a version, as the history shows them. */
export const revert: Operation<RevertIntent, RevertPlan, UpdatedRows> = {
  name: "revert",
  access: "update",
  alsoAccess: "read",
  takesBody: true,
  parse: parseRevert,

  plan(intent, grant, resource, { also }) {
    planTarget(intent.named, resource);
    if (also === null) throw new Error("The right to read was not checked");
    return { ...intent, grant, read: also };
  },

  async execute({ named, version, optimisticId, grant, read }, call) {
    const { resource } = call;
    const { key, segment } = planTarget(named, resource);
    const opened = resource.sealer.open(version, historyContext("version", key, resource));
    if (opened === null) throw invalidField("is not a version of this row", "version");
    const from = { before: 0, compared: Number(opened) };
    const { value } = await visibleVersions({ segment, key, grant: read, from }, call).next();
    const [found] = value?.versions ?? [];
    if (value === undefined || found === undefined) {
      throw new Problem("not-found", `The row ${segment.slice(0, 100)} has no such version`);
    }
    const body = changesTo(found.shown, value.current.shown, resource);
    // The values are parsed as in a PATCH, so that the same rules and errors apply.
    const bytes = new TextEncoder().encode(writeJson(body));
    const values = parseRowChanges(parseBody(bytes, resource.maxFields), resource);
    const patch = { named, values, optimisticId, nested: null };
    return await update.execute(update.plan(patch, grant, resource, noAdditionalGrants), call);
  },

  shape: (outcome, { named, optimisticId }, resource) =>
    update.shape(outcome, { named, optimisticId, values: new Map(), nested: null }, resource),
};

function parseRevert(request: ResourceRequest, resource: Resource) {
  const { version = null }: { readonly version?: unknown } = requireObject(request.body);
  if (typeof version !== "string") throw invalidField("must be the id of a version", "version");
  const optimisticId = optimisticIdOf(request);
  return { named: parsePathRow(request, resource), version, optimisticId };
}

/** Throws a 422 if the version differs in fields that the caller can read but not change. */
function changesTo(version: Row, current: Row, resource: Resource): Record<string, unknown> {
  const body: Record<string, unknown> = { __proto__: null };
  const refused: string[] = [];
  for (const column of resource.fields.readable) {
    const { name } = column;
    if (isKept(column, resource) || version[name] === undefined) continue;
    if (mayChange(column, resource)) body[name] = version[name];
    else if (writeJson(version[name]) !== writeJson(current[name])) refused.push(name);
  }
  if (refused.length === 0) return body;
  const message = "differs in this version, and you may not change it";
  throw new InvalidFields(refused.map((path) => ({ path, message })));
}

/** Returns true for a column that keeps its current value, because the service maintains it. */
function isKept(column: ColumnInfo, { etag, softDelete, timestamps }: Resource): boolean {
  return column.primaryKey || column.generated || column.writeTimestamp !== null ||
    timestamps.onUpdate.includes(column) ||
    [etag?.versionField, etag?.updatedAtField, softDelete?.field].includes(column);
}
