import type { PolicyBypass, RoleLimits } from "../../db/engine/engine.ts";
import { readPolicyBypasses, type RoleRights } from "../../db/tables/role_rights.ts";
import { Problem } from "../../problem/problem.ts";
import type { Observer } from "../../runtime/runtime.ts";
import type { ColumnInfo } from "../../schema/table_info.ts";
import type { Resource } from "../model/resource.ts";

type Shown = Pick<Resource, "name" | "table" | "fields" | "roleRights">;

/**
 * Checks, when the app starts, in which resources the database hides rows or columns from its role.
 * Throws a plain Error if such a resource has live streams, because the streams would send hidden
 * rows. Reports any other consequence to the observer.
 */
export function checkRoleRights(
  resources: readonly Resource[],
  rights: RoleRights,
  observe: Observer,
): void {
  for (const resource of resources) {
    const limits = rights.known(resource.table) ?? null;
    // With `actAs`, other roles than the service's own role run the statements of users.
    if (limits === null || resource.identityOf !== null) continue;
    if (resource.isSubscribable) requireShown(resource, limits);
    if (limits.hidesRows && resource.search !== null) {
      observe({ kind: "notice", message: `No search of ${unsearched(resource, limits)}` });
    }
  }
}

/** Reports to the observer, once each, the policies that do not restrict the served rows. */
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
    // The id is the JSON of a policy bypass, written above.
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

/** Returns true if the database is known to hide rows or readable columns from the service. */
export function isHiddenFromRole(resource: Shown): boolean {
  const limits = resource.roleRights.known(resource.table) ?? null;
  return limits !== null && (limits.hidesRows || hiddenColumn(resource, limits) !== undefined);
}

/**
 * Requires that the database hides no part of a resource from the service. Search results and
 * stream events come from indexes and the change log, in which the database hides nothing. Throws a
 * 404 if rights have changed since the start.
 */
export async function requireShownToRole(resource: Shown, what: string): Promise<void> {
  await resource.roleRights.of(resource.table);
  if (!isHiddenFromRole(resource)) return;
  throw new Problem(
    "not-found",
    `There is no ${what} here: the database hides a part of "${resource.name}" from the service`,
  );
}
