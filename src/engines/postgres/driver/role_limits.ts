import { selectNamed } from "../../../db/named_columns.ts";
import type { Driver } from "../../../db/driver.ts";
import type { RoleLimits } from "../../../db/engine/roles_engine.ts";
import type { TableInfo } from "../../../schema/table_info.ts";
import { sqlName } from "../../../sql/fragment.ts";

/** Reads how the rights of the database role restrict access to each table. */
export async function readPostgresRoleLimits(
  driver: Driver,
  tables: readonly TableInfo[],
): Promise<ReadonlyMap<TableInfo, RoleLimits>> {
  const rows = await selectNamed(
    driver,
    {
      place: "t.place",
      role: "current_user",
      hasPolicies: "c.relrowsecurity",
      // The function `row_security_active` considers owners, FORCE, BYPASSRLS and superusers.
      isActive: "row_security_active(c.oid)",
      unreadable: `(SELECT json_agg(a.attname) FROM pg_attribute a WHERE a.attrelid = c.oid
        AND a.attnum > 0 AND NOT a.attisdropped
        AND NOT has_column_privilege(c.oid, a.attnum, 'SELECT'))`,
    },
    `FROM json_array_elements_text($1::json) WITH ORDINALITY AS t(name, place)
     JOIN pg_class c ON c.oid = to_regclass(t.name)`,
    JSON.stringify(tables.map(sqlName)),
  );
  const limits = new Map<TableInfo, RoleLimits>();
  for (const row of rows) {
    const table = tables[Number(row.place) - 1];
    if (table === undefined) continue;
    const unreadable: readonly string[] = JSON.parse(String(row.unreadable ?? "[]"));
    limits.set(table, {
      role: String(row.role),
      hidesRows: row.isActive === "t",
      unreadable: table.columns.filter(({ dbName }) => unreadable.includes(dbName)),
      isExempt: row.hasPolicies === "t" && row.isActive !== "t",
    });
  }
  return limits;
}
