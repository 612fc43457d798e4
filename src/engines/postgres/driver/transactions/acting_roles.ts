import { cell, selectNamed } from "../../../../db/named_columns.ts";
import type { Driver } from "../../../../db/driver.ts";
import type { ActingRole, ActingRoles, RoleOnTable } from "../../../../db/engine/acting_roles.ts";
import type { TableInfo } from "../../../../schema/table_info.ts";

/** Reads the rights of the login role and of the roles that it acts as, in general and by table. */
export async function readActingRoles(
  driver: Driver,
  names: readonly string[],
  tables: readonly TableInfo[],
): Promise<ActingRoles> {
  const roles = JSON.stringify(names);
  const [known, rights] = await Promise.all([
    selectNamed(
      driver,
      {
        name: cell.text("r.rolname"),
        isLogin: cell.flag("r.rolname = current_user"),
        isMember: cell.flag("pg_has_role(current_user, r.oid, 'MEMBER')"),
        isSuperuser: cell.flag("r.rolsuper"),
        bypasses: cell.flag("r.rolbypassrls"),
      },
      `FROM pg_roles r WHERE r.rolname = current_user
        OR r.rolname IN (SELECT json_array_elements_text($1::json))`,
      roles,
    ),
    selectNamed(
      driver,
      {
        place: cell.number("t.place"),
        role: cell.text("r.rolname"),
        reads: cell.flag("has_any_column_privilege(r.oid, c.oid, 'SELECT')"),
        hasPolicies: cell.flag("c.relrowsecurity"),
        isView: cell.flag("c.relkind IN ('v', 'm')"),
        isExempt: cell.flag(`c.relkind NOT IN ('v', 'm') AND NOT c.relforcerowsecurity
          AND pg_has_role(r.oid, c.relowner, 'USAGE')`),
        unreadable: cell.list(withoutRight("SELECT")),
        notInsertable: cell.list(withoutRight("INSERT")),
        notUpdatable: cell.list(withoutRight("UPDATE")),
      },
      // to_regclass is not used: it needs a right to the schema, which the login role can lack.
      `FROM json_to_recordset($2::json) AS t(place int, schema text, name text)
       JOIN pg_class c ON c.relname = t.name AND c.relkind IN ('r', 'p', 'v', 'm', 'f')
         AND CASE WHEN t.schema IS NULL THEN pg_table_is_visible(c.oid)
           ELSE c.relnamespace = (SELECT oid FROM pg_namespace WHERE nspname = t.schema) END
       JOIN pg_roles r ON r.rolname = current_user
         OR r.rolname IN (SELECT json_array_elements_text($1::json))`,
      roles,
      JSON.stringify(tables.map(({ schema, name }, place) => ({ place, schema, name }))),
    ),
  ]);
  const roleOf = ({ isLogin: _isLogin, ...role }: typeof known[number]): ActingRole => role;
  return {
    login: known.filter(({ isLogin }) => isLogin).map(roleOf)[0] ?? null,
    roles: known.map(roleOf),
    rights: rights.flatMap(({ place, ...facts }): readonly RoleOnTable[] => {
      const table = tables[place];
      if (table === undefined) return [];
      const named = (names: readonly string[]) =>
        new Set(table.columns.filter(({ dbName }) => names.includes(dbName)));
      return [{
        ...facts,
        table,
        unreadable: named(facts.unreadable),
        notInsertable: named(facts.notInsertable),
        notUpdatable: named(facts.notUpdatable),
      }];
    }),
  };
}

/** Returns SQL that lists the columns for which a role lacks a right. */
function withoutRight(right: string): string {
  return `(SELECT json_agg(a.attname) FROM pg_attribute a WHERE a.attrelid = c.oid
    AND a.attnum > 0 AND NOT a.attisdropped
    AND NOT has_column_privilege(r.oid, c.oid, a.attnum, '${right}'))`;
}
