import {
  cell,
  type NamedColumn,
  type NamedColumns,
  namedColumns,
  type NamedRow,
} from "../../../db/named_columns.ts";
import type { Driver } from "../../../db/driver.ts";
import type { PolicyBypass, RoleLimits } from "../../../db/engine/engine.ts";
import type { TableInfo } from "../../../schema/table_info.ts";
import { sqlName } from "../../../sql/fragment.ts";

const actingRole = "(SELECT oid FROM pg_roles WHERE rolname = current_user)";

/** Replaces `row_security_active`, which tests only the current role and can be outdated. */
export function policiesApplySql(role: string = actingRole): string {
  return `(c.relrowsecurity
    AND (c.relforcerowsecurity OR NOT pg_has_role(${role}, c.relowner, 'USAGE'))
    AND EXISTS (SELECT FROM pg_roles AS acting
      WHERE acting.oid = ${role} AND NOT rolsuper AND NOT rolbypassrls))`;
}

/**
 * The table expressions `asked` and `reached` for the table names in the JSON list `$1`. `reached`
 * contains the relations from which those tables take rows, and the role whose rights apply. A view
 * reads as its owner unless it is `security_invoker`, so the innermost view matters. A materialized
 * view has the rows that its owner could read.
 */
const reachedSql = `asked AS (
    SELECT t.place, c.oid FROM json_array_elements_text($1::json) WITH ORDINALITY AS t(name, place)
    JOIN pg_class c ON c.oid = to_regclass(t.name)),
  reached AS (
    SELECT place, oid, ${actingRole} AS role, NULL::text AS why, false AS is_stored,
      true AS is_named FROM asked
    UNION
    SELECT r.place, d.refobjid,
      CASE WHEN r.is_stored THEN r.role WHEN v.is_invoker THEN ${actingRole} ELSE v.relowner END,
      CASE WHEN r.is_stored THEN r.why
        WHEN v.relkind = 'm' THEN 'a materialized view contains the rows that its owner could read'
        WHEN NOT v.is_invoker
        THEN 'a view has the rights of its owner, unless it is security_invoker' END,
      r.is_stored OR v.relkind = 'm', false
    FROM reached r
    JOIN (SELECT *, coalesce((SELECT option_value::boolean FROM pg_options_to_table(reloptions)
      WHERE option_name = 'security_invoker'), false) AS is_invoker FROM pg_class) v
      ON v.oid = r.oid AND v.relkind IN ('v', 'm')
    JOIN pg_rewrite w ON w.ev_class = v.oid AND w.ev_type = '1'
    JOIN pg_depend d ON d.classid = 'pg_rewrite'::regclass AND d.objid = w.oid
      AND d.refclassid = 'pg_class'::regclass AND d.refobjid <> v.oid)`;

/** Inheritance parents and children of reached tables, whose policies a table's reads ignore. */
const kinSql = `kin AS (
    SELECT r.place, r.oid, up.is_up FROM reached r
    JOIN pg_class c ON c.oid = r.oid AND NOT c.relrowsecurity, (VALUES (true), (false)) AS up(is_up)
    UNION
    SELECT k.place, e.other, e.is_up FROM kin k JOIN (
      SELECT inhrelid AS one, inhparent AS other, true AS is_up FROM pg_inherits
      UNION ALL SELECT inhparent, inhrelid, false FROM pg_inherits
    ) e ON e.one = k.oid AND e.is_up = k.is_up)`;

/** The table expression `remote`: tables with rows on other servers, whose policies can apply. */
const remoteSql = `remote AS (
    SELECT oid FROM pg_class WHERE relkind = 'f'
    UNION SELECT i.inhparent FROM remote r JOIN pg_inherits i ON i.inhrelid = r.oid)`;

export async function readPostgresRoleLimits(
  driver: Driver,
  tables: readonly TableInfo[],
): Promise<ReadonlyMap<TableInfo, RoleLimits>> {
  const rows = await readByTable(
    driver,
    tables,
    {
      place: cell.number("a.place"),
      role: cell.text("current_user"),
      restricted: cell.textOrNull("s.restricted"),
      isRemote: cell.flag("s.is_remote"),
      unreadable: cell.list(
        `(SELECT json_agg(t.attname) FROM pg_attribute t WHERE t.attrelid = a.oid
        AND t.attnum > 0 AND NOT t.attisdropped
        AND NOT has_column_privilege(a.oid, t.attnum, 'SELECT'))`,
      ),
    },
    `${reachedSql}, ${remoteSql}`,
    `FROM asked a JOIN (SELECT r.place,
        min(o.rolname) FILTER (WHERE NOT r.is_stored AND ${
      policiesApplySql("o.oid")
    }) AS restricted,
        bool_or(f.oid IS NOT NULL) AS is_remote
      FROM reached r JOIN pg_class c ON c.oid = r.oid JOIN pg_roles o ON o.oid = r.role
      LEFT JOIN remote f ON f.oid = r.oid GROUP BY r.place) s ON s.place = a.place`,
  );
  return new Map(rows.map(([table, { role, restricted, isRemote, unreadable }]) => [table, {
    role: restricted ?? role,
    hidesRows: restricted !== null,
    mayEstimate: restricted === null && !isRemote,
    unreadable: table.columns.filter(({ dbName }) => unreadable.includes(dbName)),
  }]));
}

export async function readPostgresPolicyBypasses(
  driver: Driver,
  tables: readonly TableInfo[],
): Promise<ReadonlyMap<TableInfo, readonly PolicyBypass[]>> {
  const rows = await readByTable(
    driver,
    tables,
    {
      place: cell.number("f.place"),
      role: cell.text("current_user"),
      of: cell.text(tableLabelSql),
      why: cell.textOrNull("f.why"),
    },
    `${reachedSql}, ${kinSql}, found AS (
      SELECT place, oid, CASE WHEN is_stored OR role <> ${actingRole} THEN why
        WHEN NOT is_named
        THEN 'policies do not apply to this role' END AS why
      FROM reached r
      WHERE role <> ${actingRole}
        OR NOT EXISTS (SELECT FROM pg_class c WHERE c.oid = r.oid AND ${policiesApplySql("r.role")})
      UNION SELECT place, oid, 'policies apply only to the table that a statement names' FROM kin)`,
    `FROM found f JOIN pg_class c ON c.oid = f.oid AND c.relrowsecurity
     ORDER BY c.relname, f.why`,
  );
  const byTable = Map.groupBy(rows, ([table]) => table);
  return new Map([...byTable].map(([table, found]) => [
    table,
    found.map(([, { role, of, why }]) => ({ role, of, why })),
  ]));
}

const tableLabelSql = `CASE WHEN pg_table_is_visible(c.oid) THEN c.relname
  ELSE c.relnamespace::regnamespace || '.' || c.relname END`;

async function readByTable<Columns extends NamedColumns & { readonly place: NamedColumn<number> }>(
  driver: Driver,
  tables: readonly TableInfo[],
  columns: Columns,
  ...[expressions, from]: readonly [string, string]
): Promise<readonly (readonly [TableInfo, NamedRow<Columns>])[]> {
  const { selectList, decode } = namedColumns(columns);
  const { rows } = await driver.query({
    text: `WITH RECURSIVE ${expressions} SELECT ${selectList} ${from}`,
    values: [JSON.stringify(tables.map(sqlName))],
  });
  return rows.map(decode).flatMap((row) => {
    const table = tables[Number(row.place) - 1];
    return table === undefined ? [] : [[table, row] as const];
  });
}
