import { selectNamed, textOrNull } from "../../../../db/named_columns.ts";
import type { Driver } from "../../../../db/driver.ts";
import type { ActingRole, ActingRoles, RoleOnTable } from "../../../../db/engine/acting_roles.ts";
import type { ColumnInfo, TableInfo } from "../../../../schema/table_info.ts";
import type { SqlValue } from "../../../../sql/fragment.ts";

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
        name: "r.rolname",
        login: "current_user",
        isLogin: "r.rolname = current_user",
        isMember: "pg_has_role(current_user, r.oid, 'MEMBER')",
        isSuperuser: "r.rolsuper",
        bypasses: "r.rolbypassrls",
      },
      `FROM pg_roles r WHERE r.rolname = current_user
        OR r.rolname IN (SELECT json_array_elements_text($1::json))`,
      roles,
    ),
    selectNamed(
      driver,
      {
        place: "t.place",
        role: "r.rolname",
        reads: "has_any_column_privilege(r.oid, c.oid, 'SELECT')",
        hasPolicies: "c.relrowsecurity",
        isView: "c.relkind IN ('v', 'm')",
        isExempt: `c.relkind NOT IN ('v', 'm') AND NOT c.relforcerowsecurity
          AND pg_has_role(r.oid, c.relowner, 'USAGE')`,
        unreadable: withoutRight("SELECT"),
        notInsertable: withoutRight("INSERT"),
        notUpdatable: withoutRight("UPDATE"),
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
  const roleOf = (row: typeof known[number]): ActingRole => ({
    name: String(row.name),
    isMember: row.isMember === "t",
    isSuperuser: row.isSuperuser === "t",
    bypasses: row.bypasses === "t",
  });
  return {
    login: known.filter(({ isLogin }) => isLogin === "t").map(roleOf)[0] ?? null,
    roles: known.map(roleOf),
    rights: rights.flatMap((row): readonly RoleOnTable[] => {
      const table = tables[Number(row.place)];
      if (table === undefined) return [];
      return [{
        table,
        role: String(row.role),
        reads: row.reads === "t",
        hasPolicies: row.hasPolicies === "t",
        isView: row.isView === "t",
        isExempt: row.isExempt === "t",
        unreadable: columnsNamed(row.unreadable, table),
        notInsertable: columnsNamed(row.notInsertable, table),
        notUpdatable: columnsNamed(row.notUpdatable, table),
      }];
    }),
  };
}

function columnsNamed(cell: SqlValue, { columns }: TableInfo): ReadonlySet<ColumnInfo> {
  const names: readonly string[] = JSON.parse(textOrNull(cell) ?? "[]");
  return new Set(columns.filter(({ dbName }) => names.includes(dbName)));
}

/** Returns SQL that lists the columns for which a role lacks a right. */
function withoutRight(right: string): string {
  return `(SELECT json_agg(a.attname) FROM pg_attribute a WHERE a.attrelid = c.oid
    AND a.attnum > 0 AND NOT a.attisdropped
    AND NOT has_column_privilege(r.oid, c.oid, a.attnum, '${right}'))`;
}
