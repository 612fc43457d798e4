import type { Grant, User } from "../../auth/authorize.ts";
import { canonicalFilterText } from "../../filter/canonical_filter.ts";
import type { LiveView, ShownRelation } from "../../live/live_view.ts";
import { DatabaseError } from "../../db/database_error.ts";
import { Problem } from "../../problem/problem.ts";
import type { ColumnInfo, Row } from "../../schema/table_info.ts";
import { tagOf } from "../http/etag.ts";
import { resourcesReadByIncludes } from "../read/resolve_include.ts";
import { loadIncluded, maxIncludedPerRow, relatedRowFilters } from "../read/load_included.ts";
import { type Include, maskRows, type View } from "../shape/output.ts";
import type { Resource } from "../model/resource.ts";
import type { PolicyBypass, RoleLimits } from "../../db/engine/engine.ts";
import { readPolicyBypasses, type RoleRights } from "../../db/tables/table_facts.ts";
import type { Observer } from "../../runtime/runtime.ts";

interface LiveViewGrants {
  readonly related: ReadonlyMap<Resource, Grant>;
  readonly user: User | null;
}

export function createLiveView(view: View, resource: Resource, rights: LiveViewGrants): LiveView {
  const { include } = view;
  const { table, etag, withheld } = resource;
  const { related } = rights;
  const tagged = (shown: readonly Row[], rows: readonly Row[]) =>
    etag === null
      ? shown
      : shown.map((item, index) => ({ ...item, _etag: tagOf(rows[index] ?? {}, etag) }));
  const shape = etag === null || withheld.size === 0
    ? shapeOf(view)
    // ETags depend on the columns that the caller cannot read, so the key contains these columns.
    : [shapeOf(view), [...withheld].map(({ name }) => name)];
  return {
    key: JSON.stringify([shape, rightsKey(include, related)]),
    shape: JSON.stringify(shape),
    safeNumbers: view.safeNumbers,
    shown: shownUnder(resource, include, related),
    rights: [...resourcesReadByIncludes(include)].map((target) => ({
      resource: target.url,
      access: "read",
      policy: target.policy,
      user: rights.user,
      sameFieldsAs: null,
      grant: rights.related.get(target) ?? null,
      regranted(grant) {
        const others = new Map(rights.related);
        if (grant === null) others.delete(target);
        else others.set(target, grant);
        return createLiveView(view, resource, { related: others, user: rights.user });
      },
    })),
    present: include.length === 0
      ? (rows) => tagged(maskRows(rows, table.columns, view), rows)
      : async (rows, identity) =>
        tagged(await presentIncluding(rows, { view, resource, related, identity }), rows),
  };
}

function rightsKey(includes: readonly Include[], related: LiveViewGrants["related"]): unknown {
  return includes.map((include) => {
    const right = relatedRowFilters(include, related);
    if (right === null) return null;
    return [
      canonicalFilterText(right.where),
      canonicalFilterText(right.links),
      rightsKey(include.view.include, related),
    ];
  });
}

function shapeOf({ visible, parts, include, safeNumbers }: View): unknown {
  const included = include.map(({ relation, order, limit, metrics, view }) => [
    relation.name,
    order.map(({ column, descending }) => [column.name, descending]),
    limit,
    metrics.map(({ as }) => as.name),
    shapeOf(view),
  ]);
  const shown = visible.map((column) => [column.name, ...parts?.get(column) ?? []]);
  return [shown, ...included, ...(safeNumbers ? ["safe"] : [])];
}

/** Returns the relations whose rows the stream contains. Other tables do not affect the stream. */
function shownUnder(
  { table, isIndexed }: Resource,
  includes: readonly Include[],
  related: LiveViewGrants["related"],
): readonly ShownRelation[] {
  return includes.flatMap((include) => {
    const { relation, target, view } = include;
    const right = relatedRowFilters(include, related);
    if (right === null) return [];
    return [{
      relation,
      filter: right.where,
      links: right.links,
      isIndexed: relation.steps[0].own.some(isIndexed) &&
        table.primaryKey.every(({ notNull }) => notNull),
      shown: shownUnder(target, view.include, related),
    }];
  });
}

/** A view with included rows. `identity` is the user or address whose read limits apply. */
interface IncludingView extends Pick<LiveViewGrants, "related"> {
  readonly view: View;
  readonly resource: Resource;
  readonly identity: string;
}

/** Returns the rows with their included rows. If they are too large, returns the first rows. */
async function presentIncluding(
  rows: readonly Row[],
  { view, resource, related, identity }: IncludingView,
): Promise<readonly Row[]> {
  const { table, driver, readCosts: { maxAnswerBytes, queryTimeoutMs } } = resource;
  // The size is limited, because a stream keeps the rows in memory until its client reads them.
  const limited = (part: number) =>
    driver.reads({
      identity,
      signal: unaborted,
      maxBytes: maxAnswerBytes / part,
      timeoutMs: queryTimeoutMs,
    });
  for (let count = rows.length; count > 1; count = Math.ceil(count / 2)) {
    const some = rows.slice(0, count);
    try {
      const included = await loadIncluded(some, view.include, related, {
        connection: limited(8),
        bytes: null,
      });
      return maskRows(some, table.columns, view, included);
    } catch (error) {
      if (!isTooMuch(error)) throw error;
    }
  }
  const first = rows.slice(0, 1);
  const included = await loadIncluded(first, view.include, related, {
    ...{ connection: limited(4), bytes: null, most: maxIncludedPerRow },
  });
  return maskRows(first, table.columns, view, included);
}

const unaborted = new AbortController().signal;

function isTooMuch(error: unknown): boolean {
  return error instanceof DatabaseError
    ? error.kind === "too-large"
    : error instanceof Problem && error.slug === "query-too-expensive";
}

type Shown = Pick<Resource, "name" | "table" | "fields" | "roleRights">;

/** Throws a plain Error if a live stream would send data hidden from the service's role. */
export function checkRoleRights(
  resources: readonly Resource[],
  rights: RoleRights,
  observe: Observer,
): void {
  for (const resource of resources) {
    const limits = rights.known(resource.table) ?? null;
    // With `actAs`, users' statements run with other roles, so these limits do not apply.
    if (limits === null || resource.identityOf !== null) continue;
    if (resource.isSubscribable) requireShown(resource, limits);
    if (limits.hidesRows && resource.search !== null) {
      observe({ kind: "notice", message: `No search of ${unsearched(resource, limits)}` });
    }
  }
}

/** Reports each row level security policy that does not apply to the service, but only once. */
export async function reportPolicyBypasses(
  resources: readonly Pick<Resource, "name" | "table" | "driver">[],
  { reportedBypasses }: RoleRights,
  observe: Observer,
): Promise<void> {
  const messages = new Map<string, Set<string>>();
  for (const [driver, some] of Map.groupBy(resources, ({ driver }) => driver)) {
    const bypasses = await readPolicyBypasses(driver, some.map(({ table }) => table));
    for (const { name, table } of some) {
      for (const bypass of bypasses.get(table) ?? []) {
        const id = JSON.stringify(bypass.why === null ? { ...bypass, of: "" } : bypass);
        if (reportedBypasses.has(id + name)) continue;
        reportedBypasses.add(id + name);
        messages.set(id, (messages.get(id) ?? new Set()).add(name));
      }
    }
  }
  for (const [id, names] of messages) {
    // The cast is safe, because this id is the JSON of a policy bypass, written above.
    const bypass = JSON.parse(id) as PolicyBypass;
    observe({ kind: "notice", message: bypassMessage(bypass, [...names]) });
  }
}

function unsearched({ name }: Resource, { role }: RoleLimits): string {
  return `"${name}": row level security applies to the role "${role}", and the index would hold ` +
    "the rows of other writers in part";
}

function bypassMessage({ role, of, why }: PolicyBypass, tables: readonly string[]): string {
  const quoted = tables.map((name) => `"${name}"`);
  const names = [quoted.slice(0, -1).join(", "), quoted.at(-1)].filter(Boolean).join(" and ");
  return why === null
    ? `${names} ${
      tables.length === 1 ? "has" : "have"
    } row level security, which does not apply to ` +
      `the role "${role}": every row is served by the scopes alone`
    : `The row level security of "${of}" does not apply to the role "${role}" in ${names}, because ` +
      why;
}

function requireShown(resource: Resource, limits: RoleLimits): void {
  const { name } = resource;
  if (limits.hidesRows) {
    throw new Error(
      `Cannot serve "${name}": live streams would send rows that row level security hides from the ` +
        `role "${limits.role}". Set capabilities.enableSubscribe to false, or serve it with a role ` +
        "that the policies do not apply to",
    );
  }
  const hidden = hiddenColumn(resource, limits);
  if (hidden === undefined) return;
  throw new Error(
    `Cannot serve "${name}": live streams would send "${hidden.name}", which the role ` +
      `"${limits.role}" may not read. GRANT SELECT on it, take it out of fields.readable, or set ` +
      "capabilities.enableSubscribe to false",
  );
}

function hiddenColumn({ fields }: Shown, { unreadable }: RoleLimits): ColumnInfo | undefined {
  return fields.readable.find((column) => unreadable.includes(column));
}

export function isHiddenFromRole(resource: Shown): boolean {
  const limits = resource.roleRights.known(resource.table) ?? null;
  return limits !== null && (limits.hidesRows || hiddenColumn(resource, limits) !== undefined);
}

/** Throws a 404 if the database hides data from the service: indexes could still contain it. */
export async function requireShownToRole(resource: Shown, what: string): Promise<void> {
  await resource.roleRights.of(resource.table);
  if (!isHiddenFromRole(resource)) return;
  throw new Problem(
    "not-found",
    `There is no ${what} here: the database hides a part of "${resource.name}" from the service`,
  );
}
