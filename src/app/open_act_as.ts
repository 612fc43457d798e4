import type { ActAsOptions } from "../auth/act_as.ts";
import { identityFunction } from "../auth/act_as.ts";
import { DatabaseError, reasonOf } from "../db/database_error.ts";
import type { Driver } from "../db/driver.ts";
import { driverActingAs } from "../db/transact.ts";
import { engineOf } from "../db/engine/engine.ts";
import type { ActingRole, ActingRoles, RoleOnTable } from "../db/engine/acting_roles.ts";
import { openDatabase } from "../engines/open_database.ts";
import type { CheckedDefinition } from "../resource/define/check_resource_definition.ts";
import { requireTableInfo } from "../resource/define/resource_definition.ts";
import type { Observer } from "../runtime/runtime.ts";
import type { TableInfo } from "../schema/table_info.ts";
import type { ActAsRoleRights, ParsedConfig } from "./resolve_resources.ts";

/** Throws if the service cannot switch to a role, or if policies do not restrict a role. */
export async function openActAs<Config extends ParsedConfig>(
  given: Config,
  options: ActAsOptions,
  observe: Observer,
): Promise<{ readonly config: Config; readonly acting: ActAsRoleRights }> {
  requirePossible(given);
  const { driver: login } = given.db;
  const tables = [...new Set(given.resources.flatMap(tablesOf))];
  const named = [...options.roles, ...(options.system === undefined ? [] : [options.system])];
  const facts = await engineOf(login).roles!.acting(login, named, tables);
  for (const role of named) requireMember(role, facts);
  for (const role of named) await requireTaking(role, login);
  requireRestricted(options.roles, facts);
  const [fault] = facts.faults;
  if (fault?.isPolicy === true) throw new Error(`Cannot start: ${fault.message}`);
  for (const message of notices(options, facts, given)) observe({ kind: "notice", message });
  const identityOf = identityFunction(options);
  const { system } = options;
  const db = system === undefined ? given.db : await openDatabase(
    driverActingAs(login, { role: system, settings: {}, isSystem: true }),
  );
  const rightsOf = (table: TableInfo) =>
    facts.rights.filter((one) => one.table === table && options.roles.includes(one.role));
  const byRole = new Map(options.roles.map((role) => [
    role,
    driverActingAs(db.driver, { role, settings: {} }),
  ]));
  return {
    config: { ...given, db, resources: given.resources.map(withoutStreams) },
    acting: {
      identityOf,
      columnRightsOf(table) {
        const ofTable = rightsOf(table);
        if (ofTable.every(hasWholeRights)) return null;
        const byRole = new Map(ofTable.map((one) => [one.role, one]));
        return (user) => byRole.get(identityOf(user).role) ?? null;
      },
      driverOf(table) {
        const isReader = ({ reads, unreadable }: RoleOnTable) => reads && unreadable.size === 0;
        const reader = rightsOf(table).find(isReader)?.role;
        if (reader !== undefined) return byRole.get(reader) ?? null;
        const all = facts.rights.filter((one) => one.table === table);
        const own = all.find(({ role }) => role === (system ?? facts.login?.name));
        // `all` is empty if the table does not exist. A later check reports the missing table.
        return all.length === 0 || own !== undefined && isReader(own) ? db.driver : null;
      },
      inEachRole: (resources) =>
        resources.flatMap(({ name, table }) =>
          rightsOf(table).flatMap(({ reads, role }) => {
            const driver = reads ? byRole.get(role) : undefined;
            return driver === undefined ? [] : [{ name, table, driver }];
          })
        ),
    },
  };
}

function hasWholeRights(
  { table: { columns }, unreadable, notInsertable, notUpdatable }: RoleOnTable,
): boolean {
  return [unreadable, notInsertable, notUpdatable].every(({ size }) =>
    size === 0 || size === columns.length
  );
}

function tablesOf({ table, options: { relations } }: CheckedDefinition): readonly TableInfo[] {
  const links = Object.values(relations).flatMap(({ through }) => through ?? []);
  return [table, ...links].map(requireTableInfo);
}

function requirePossible({ db, resources, changes }: ParsedConfig): void {
  const { driver, label } = db;
  if (driver.as === undefined || engineOf(driver).roles === null) {
    throw new Error(`Cannot start: actAs needs roles of Postgres, and ${label} has none`);
  }
  for (const { table, options } of resources) {
    if (options.db === undefined || options.db.driver === driver) continue;
    throw new Error(
      `Cannot serve "${
        requireTableInfo(table).label
      }": it has a db of its own, and actAs belongs to ` +
        "the db of the app",
    );
  }
  if (changes?.mode !== "service") return;
  throw new Error(
    'Cannot start: changes.mode is "service", whose log the roles of actAs would have to write: set ' +
      'it to "triggers"',
  );
}

function requireMember(role: string, { login, roles }: ActingRoles): void {
  const found = roles.find(({ name }) => name === role);
  if (found === undefined) throw new Error(`Cannot act as "${role}": there is no such role`);
  if (found.isMember || login === null) return;
  throw new Error(
    `Cannot act as "${role}": the role "${login.name}" is no member of it: GRANT ${role} TO ` +
      login.name,
  );
}

/** Tries to switch to a role. Since Postgres 16, a membership without SET forbids the switch. */
async function requireTaking(role: string, login: Driver): Promise<void> {
  try {
    await driverActingAs(login, { role, settings: {} }).query({ text: "SELECT 1", values: [] });
  } catch (error) {
    const reason = error instanceof DatabaseError ? reasonOf(error) : String(error);
    throw new Error(`Cannot act as "${role}": ${reason}`, { cause: error });
  }
}

function requireRestricted(names: readonly string[], { roles, rights }: ActingRoles): void {
  for (const { name, isSuperuser, bypasses } of roles) {
    if (!names.includes(name) || !isSuperuser && !bypasses) continue;
    const power = isSuperuser ? "is a superuser" : "has BYPASSRLS";
    throw new Error(`Cannot act as "${name}": it ${power}, so no policy would restrict it`);
  }
  const owned = rights.find(({ role, isExempt }) => isExempt && names.includes(role));
  if (owned === undefined) return;
  const { role, table: { label } } = owned;
  throw new Error(
    `Cannot act as "${role}": it owns "${label}", whose policies do not restrict it: ALTER TABLE ` +
      `${label} FORCE ROW LEVEL SECURITY`,
  );
}

function notices(
  { roles, system }: ActAsOptions,
  { login, rights, faults }: ActingRoles,
  { resources, search }: ParsedConfig,
): readonly string[] {
  const ofUsers = rights.filter(({ role }) => roles.includes(role));
  const tables = (fits: (one: RoleOnTable) => boolean) =>
    listed([...new Set(ofUsers.filter(fits).map(({ table }) => table.label))]);
  const open = tables(({ reads, hasPolicies, isView }) => reads && !hasPolicies && !isView);
  const read = new Set(ofUsers.flatMap(({ reads, table }) => reads ? [table] : []));
  const closed = tables(({ table }) => !read.has(table));
  const power = login === null || system === login.name ? null : powerOf(login, rights);
  const isSubscribed = resources.some(({ options: { auth, capabilities } }) =>
    capabilities.enableSubscribe && (auth?.subscribe ?? auth?.public) !== undefined
  );
  return [
    ...(power === null ? [] : [
      `the role "${login?.name}" that logs in ${power}: use a role with NOINHERIT and no rights of ` +
      "its own, like an authenticator",
    ]),
    ...faults.map(({ message }) => message),
    ...(open === "" ? [] : [`${open}: no row level security, so the grants alone decide`]),
    ...(closed === "" ? [] : [`${closed}: no role of actAs may read it`]),
    ...(isSubscribed ? ["Live streams: none, because actAs does not serve them yet"] : []),
    ...(search === undefined
      ? []
      : ["Search: none, because an index would hold words of all rows"]),
  ];
}

function powerOf(
  { name, isSuperuser, bypasses }: ActingRole,
  rights: readonly RoleOnTable[],
): string | null {
  if (isSuperuser) return "is a superuser";
  if (bypasses) return "has BYPASSRLS";
  const own = rights.filter(({ role, reads }) => role === name && reads);
  return own.length === 0 ? null : `may read ${listed(own.map(({ table }) => table.label))}`;
}

function listed(names: readonly string[]): string {
  return names.map((name) => `"${name}"`).join(", ");
}

/** Disables streams and search, because they do not read rows with the role of the user. */
function withoutStreams(definition: CheckedDefinition): CheckedDefinition {
  const { options, options: { capabilities, search } } = definition;
  return {
    ...definition,
    options: {
      ...options,
      capabilities: { ...capabilities, enableSubscribe: false },
      search: { ...search, enabled: false },
    },
  };
}
