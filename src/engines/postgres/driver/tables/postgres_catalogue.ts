import type { Connection } from "../../../../db/driver.ts";
import { isInternal, type LeftOut } from "../../../../db/introspection.ts";
import { cell, type NamedRow, selectNamed } from "../../../../db/named_columns.ts";
import { type ChosenSchemas, tableLabel } from "./postgres_schemas.ts";

export const chosenTablesQuery =
  `SELECT c.oid FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace
  WHERE n.nspname IN (SELECT json_array_elements_text($1::json))`;

const tableFacts = {
  id: cell.text("c.oid"),
  name: cell.text("c.relname"),
  namespace: cell.text("n.nspname"),
  schema: cell.textOrNull(schemaOf("c.oid", "n.nspname")),
  /** The SELECT of a view. Null for a table, and for a view in which a function repeats rows. */
  view: cell.textOrNull(`CASE WHEN c.relkind IN ('v', 'm') THEN CASE
    WHEN EXISTS (SELECT FROM pg_rewrite r
      WHERE r.ev_class = c.oid AND r.ev_action::text LIKE '%:hasTargetSRFs true%')
    THEN '' ELSE pg_get_viewdef(c.oid) END END`),
  /** Writes of a view, as bits: 4 update, 8 insert, 16 delete. A view with a rule has none. */
  writes: cell.number(
    `CASE WHEN c.relkind <> 'v' OR EXISTS (${
      below("JOIN pg_rewrite r ON r.ev_class = below.oid AND r.ev_type <> '1'")
    }) THEN 0 ELSE pg_relation_is_updatable(c.oid, true) END`,
  ),
  /** The writes that the view's own INSTEAD OF triggers execute, in the bits of `writes`. */
  ownTriggers: cell.number(`(SELECT coalesce(bit_or(
    ((t.tgtype & 16) >> 2) | ((t.tgtype & 12) << 1)), 0) FROM pg_trigger t
    WHERE t.tgrelid = c.oid AND t.tgtype & 64 > 0)`),
  /** True if INSTEAD OF triggers of the view, or of a view that it reads, execute writes. */
  isTriggered: cell.flag(
    `c.relkind = 'v' AND EXISTS (${
      below("JOIN pg_trigger t ON t.tgrelid = below.oid AND t.tgtype & 64 > 0")
    })`,
  ),
  /** True if Postgres itself writes to the table of the view, and so can lock the view's rows. */
  isAutomatic: cell.flag("c.relkind = 'v' AND pg_relation_is_updatable(c.oid, false) & 4 > 0"),
  isStored: cell.flag("c.relkind <> 'v'"),
  isInherited: cell.flag(`c.relkind IN ('r', 'f')
    AND EXISTS (SELECT FROM pg_inherits i WHERE i.inhparent = c.oid)`),
  description: cell.textOrNull("obj_description(c.oid, 'pg_class')"),
  reason: cell.textOrNull(`CASE WHEN c.relkind = 'm' AND NOT c.relispopulated
    THEN 'it has no rows before REFRESH MATERIALIZED VIEW'
    WHEN EXISTS (SELECT FROM pg_depend d WHERE d.classid = 'pg_class'::regclass
      AND d.objid = c.oid AND d.deptype = 'e') THEN 'it belongs to an extension'
    WHEN NOT EXISTS (SELECT FROM pg_attribute a WHERE a.attrelid = c.oid AND a.attnum > 0
      AND NOT a.attisdropped) THEN 'it has no columns'
    WHEN NOT ${mayUse("has_any_column_privilege", "c.oid")}
    THEN 'this user may not read it' END`),
};

export type CatalogueTable = Awaited<ReturnType<typeof listTables>>["tables"][number];

export async function listTables(
  connection: Connection,
  schemas: ChosenSchemas,
  roles: readonly string[],
) {
  const rows = await selectNamed(
    connection,
    tableFacts,
    `FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace
     WHERE c.oid IN (${chosenTablesQuery}) AND c.relkind IN ('r', 'p', 'v', 'm', 'f')
       AND NOT c.relispartition
     ORDER BY array_position(ARRAY(SELECT json_array_elements_text($1::json)), n.nspname::text),
       c.relname`,
    JSON.stringify(schemas.names),
    JSON.stringify(roles),
  );
  const listed = rows.filter(({ name }) => !isInternal(name)).map(({ namespace, ...row }) => ({
    ...row,
    label: tableLabel({ schema: namespace, name: row.name }, schemas),
  }));
  return {
    tables: listed.filter(({ reason }) => reason === null),
    leftOut: listed.flatMap(({ label, reason }): LeftOut[] =>
      reason === null ? [] : [{ table: label, reason }]
    ),
  };
}

function below(rest: string): string {
  return `WITH RECURSIVE below(oid) AS (
    SELECT c.oid UNION SELECT d.refobjid FROM below
    JOIN pg_rewrite r ON r.ev_class = below.oid JOIN pg_depend d ON d.objid = r.oid
    WHERE d.classid = 'pg_rewrite'::regclass AND d.refclassid = 'pg_class'::regclass
  ) SELECT FROM below ${rest}`;
}

/** Returns SQL that is true if the current role, or a role in the list `$2`, may use `what`. */
export function mayUse(check: string, what: string, right = "SELECT"): string {
  return `(${check}(${what}, '${right}') OR EXISTS (SELECT FROM pg_roles r
    WHERE r.rolname IN (SELECT json_array_elements_text($2::json))
      AND ${check}(r.oid, ${what}, '${right}')))`;
}

const columnFacts = {
  owner: cell.text("a.attrelid"),
  name: cell.text("a.attname"),
  notNull: cell.flag("a.attnotnull OR t.typnotnull"),
  identity: cell.text("a.attidentity"),
  generated: cell.flag("a.attgenerated <> ''"),
  /** The type as declared, for example `character varying(160)`, or the name of a domain. */
  declared: cell.text("format_type(a.atttypid, a.atttypmod)"),
  typeId: cell.text("a.atttypid"),
  /** The full name of the type, or of the type on which a domain is based. */
  baseType: cell.text(
    "format_type(b.oid, CASE WHEN t.typtype = 'd' THEN t.typtypmod ELSE a.atttypmod END)",
  ),
  defaultSql: cell.textOrNull("coalesce(pg_get_expr(d.adbin, d.adrelid), t.typdefault)"),
  isWritable: cell.flag("pg_column_is_updatable(a.attrelid, a.attnum, false)"),
  description: cell.textOrNull("col_description(a.attrelid, a.attnum)"),
  wordsSql: cell.textOrNull(`CASE WHEN b.oid = 'tsvector'::regtype THEN coalesce(
    CASE WHEN a.attgenerated <> '' THEN pg_get_expr(d.adbin, d.adrelid) END,
    (SELECT string_agg(pg_get_triggerdef(w.oid) || p.prosrc, ';') FROM pg_trigger w
      JOIN pg_proc p ON p.oid = w.tgfoid WHERE w.tgrelid = a.attrelid AND NOT w.tgisinternal)) END`),
  /** True if the column's collation can treat different strings as equal. */
  isLoose: cell.flag(`(SELECT NOT l.collisdeterministic FROM pg_collation l
    WHERE l.oid = a.attcollation)`),
};

export type CatalogueColumn = NamedRow<typeof columnFacts>;

export async function readColumns(
  connection: Connection,
  schemas: string,
  roles: readonly string[],
): Promise<readonly CatalogueColumn[]> {
  return await selectNamed(
    connection,
    columnFacts,
    `FROM pg_attribute a
     JOIN pg_type t ON t.oid = a.atttypid
     JOIN pg_type b ON b.oid = CASE WHEN t.typtype = 'd' THEN t.typbasetype ELSE t.oid END
     LEFT JOIN pg_attrdef d ON d.adrelid = a.attrelid AND d.adnum = a.attnum
     WHERE a.attrelid IN (${chosenTablesQuery}) AND a.attnum > 0 AND NOT a.attisdropped
       AND ${mayUse("has_column_privilege", "a.attrelid, a.attnum")}
     ORDER BY a.attrelid, a.attnum`,
    schemas,
    JSON.stringify(roles),
  );
}

const uniqueIndexFacts = {
  owner: cell.text("i.indrelid"),
  isKey: cell.flag("i.indisprimary"),
  /** True if each statement checks uniqueness. False if the check can wait until the commit. */
  isImmediate: cell.flag("i.indimmediate"),
  columns: cell.list(columnNames("i.indrelid", "i.indkey", "i.indnkeyatts")),
  name: cell.text("i.indexrelid::regclass"),
  where: cell.textOrNull("pg_get_expr(i.indpred, i.indrelid)"),
};

export type CatalogueUniqueIndex = NamedRow<typeof uniqueIndexFacts>;

export async function readUniqueIndexes(
  connection: Connection,
  schemas: string,
): Promise<readonly CatalogueUniqueIndex[]> {
  return await selectNamed(
    connection,
    uniqueIndexFacts,
    `FROM pg_index i
     WHERE i.indrelid IN (${chosenTablesQuery}) AND i.indisunique AND i.indisvalid
       AND i.indexprs IS NULL
     ORDER BY i.indexrelid`,
    schemas,
  );
}

export type CatalogueConstraint = Awaited<ReturnType<typeof readConstraints>>[number];

export async function readConstraints(connection: Connection, schemas: string) {
  const rows = await selectNamed(
    connection,
    {
      owner: cell.text("k.conrelid"),
      columns: cell.list(columnNames("k.conrelid", "k.conkey")),
      schema: cell.textOrNull(schemaOf("f.oid", "m.nspname")),
      table: cell.textOrNull("f.relname"),
      references: cell.list(columnNames("k.confrelid", "k.confkey")),
      definition: cell.text("pg_get_constraintdef(k.oid)"),
    },
    `FROM pg_constraint k
     LEFT JOIN pg_class f ON f.oid = k.confrelid
     LEFT JOIN pg_namespace m ON m.oid = f.relnamespace
     WHERE k.conrelid IN (${chosenTablesQuery}) AND k.conparentid = 0
       AND (k.contype = 'c' OR k.contype = 'f' AND f.oid IS NOT NULL)
     ORDER BY k.oid`,
    schemas,
  );
  return rows.map(({ schema, table, references, ...constraint }) => ({
    ...constraint,
    target: table === null ? null : { schema, table, references },
  }));
}

export function schemaOf(table: string, schema: string): string {
  return `CASE WHEN ${schema} IS DISTINCT FROM current_schema() OR NOT pg_table_is_visible(${table})
    THEN ${schema} END`;
}

export function columnNames(table: string, numbers: string, count = "32767"): string {
  return `(SELECT json_agg(a.attname ORDER BY each.ordinal)
    FROM unnest(${numbers}) WITH ORDINALITY AS each(number, ordinal)
    JOIN pg_attribute a ON a.attrelid = ${table} AND a.attnum = each.number
    WHERE each.ordinal <= ${count})`;
}
