import type { SqlValue } from "../../../../sql/fragment.ts";
import type { Connection } from "../../../../db/driver.ts";
import { type ForeignKeyDraft, isInternal, type LeftOut } from "../../../../db/introspection.ts";
import { selectNamed, textOrNull } from "../../../../db/named_columns.ts";
import { type ChosenSchemas, tableLabel } from "./postgres_schemas.ts";

/** A query for the OIDs of all tables and views in the schemas of the JSON list `$1`. */
export const chosenTablesQuery =
  `SELECT c.oid FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace
  WHERE n.nspname IN (SELECT json_array_elements_text($1::json))`;

export interface CatalogueTable {
  readonly id: string;
  readonly name: string;
  readonly schema: string | null;
  /** The name of the table in paths and error messages. */
  readonly label: string;
  /** The SELECT of a view or materialized view. Null for a table. */
  readonly view: string | null;
  /** True if the rows are stored. False for most views. */
  readonly isStored: boolean;
  /** True if the table also contains the rows of tables that inherit from it. */
  readonly isInherited: boolean;
}

/** Returns the tables in the catalog, and, apart from these, the tables that cannot be served. */
export async function listTables(
  connection: Connection,
  schemas: ChosenSchemas,
  roles: readonly string[],
): Promise<{ tables: readonly CatalogueTable[]; leftOut: readonly LeftOut[] }> {
  const rows = await selectNamed(
    connection,
    {
      id: "c.oid",
      name: "c.relname",
      namespace: "n.nspname",
      schema: schemaOf("c.oid", "n.nspname"),
      // A view with a set-returning function repeats rows of its table, so its SELECT is omitted.
      view: `CASE WHEN c.relkind IN ('v', 'm') THEN CASE WHEN EXISTS (SELECT FROM pg_rewrite r
        WHERE r.ev_class = c.oid AND r.ev_action::text LIKE '%:hasTargetSRFs true%')
        THEN '' ELSE pg_get_viewdef(c.oid) END END`,
      isStored: "c.relkind <> 'v'",
      isInherited: `c.relkind IN ('r', 'f')
        AND EXISTS (SELECT FROM pg_inherits i WHERE i.inhparent = c.oid)`,
      reason: `CASE WHEN c.relkind = 'm' AND NOT c.relispopulated
        THEN 'it has no rows before REFRESH MATERIALIZED VIEW'
        WHEN EXISTS (SELECT FROM pg_depend d WHERE d.classid = 'pg_class'::regclass
          AND d.objid = c.oid AND d.deptype = 'e') THEN 'it belongs to an extension'
        WHEN NOT has_table_privilege(c.oid, 'SELECT') AND NOT EXISTS (SELECT FROM pg_roles r
          WHERE r.rolname IN (SELECT json_array_elements_text($2::json))
            AND has_any_column_privilege(r.oid, c.oid, 'SELECT'))
        THEN 'this user may not read it' END`,
    },
    `FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace
     WHERE c.oid IN (${chosenTablesQuery}) AND c.relkind IN ('r', 'p', 'v', 'm', 'f')
       AND NOT c.relispartition
     ORDER BY array_position(ARRAY(SELECT json_array_elements_text($1::json)), n.nspname::text),
       c.relname`,
    JSON.stringify(schemas.names),
    JSON.stringify(roles),
  );
  const listed = rows.filter(({ name }) => !isInternal(String(name))).map((row) => {
    const [name, schema] = [String(row.name), String(row.namespace)];
    return { ...row, name, label: tableLabel({ schema, name }, schemas) };
  });
  return {
    tables: listed.flatMap(({ id, name, label, schema, view, isStored, isInherited, reason }) => {
      if (reason !== null) return [];
      const texts = { schema: textOrNull(schema), view: textOrNull(view) };
      const facts = { isStored: isStored === "t", isInherited: isInherited === "t" };
      return [{ id: String(id), name, label, ...texts, ...facts }];
    }),
    leftOut: listed.flatMap(({ label, reason }) =>
      typeof reason === "string" ? [{ table: label, reason }] : []
    ),
  };
}

export interface CatalogueColumn {
  readonly owner: string;
  readonly name: string;
  readonly notNull: boolean;
  readonly identity: string;
  readonly generated: boolean;
  /** The type as declared, for example `character varying(160)`, or the name of a domain. */
  readonly declared: string;
  /** The OID of the column's type. */
  readonly typeId: string;
  /** The full type name, or that of the type on which a domain is based. */
  readonly baseType: string;
  readonly defaultSql: string | null;
  /** True if the column's collation can treat different strings as equal. */
  readonly isLoose: boolean;
}

export async function readColumns(
  connection: Connection,
  schemas: string,
): Promise<readonly CatalogueColumn[]> {
  const rows = await selectNamed(
    connection,
    {
      owner: "a.attrelid",
      name: "a.attname",
      notNull: "a.attnotnull OR t.typnotnull",
      identity: "a.attidentity",
      generated: "a.attgenerated <> ''",
      declared: "format_type(a.atttypid, a.atttypmod)",
      typeId: "a.atttypid",
      baseType:
        "format_type(b.oid, CASE WHEN t.typtype = 'd' THEN t.typtypmod ELSE a.atttypmod END)",
      defaultSql: "coalesce(pg_get_expr(d.adbin, d.adrelid), t.typdefault)",
      isLoose: `(SELECT NOT l.collisdeterministic FROM pg_collation l
        WHERE l.oid = a.attcollation)`,
    },
    `FROM pg_attribute a
     JOIN pg_type t ON t.oid = a.atttypid
     JOIN pg_type b ON b.oid = CASE WHEN t.typtype = 'd' THEN t.typbasetype ELSE t.oid END
     LEFT JOIN pg_attrdef d ON d.adrelid = a.attrelid AND d.adnum = a.attnum
     WHERE a.attrelid IN (${chosenTablesQuery}) AND a.attnum > 0 AND NOT a.attisdropped
     ORDER BY a.attrelid, a.attnum`,
    schemas,
  );
  return rows.map((row) => ({
    owner: String(row.owner),
    name: String(row.name),
    notNull: row.notNull === "t",
    identity: String(row.identity),
    generated: row.generated === "t",
    declared: String(row.declared),
    typeId: String(row.typeId),
    baseType: String(row.baseType),
    defaultSql: textOrNull(row.defaultSql),
    isLoose: row.isLoose === "t",
  }));
}

export interface CatalogueUniqueIndex {
  readonly owner: string;
  readonly isKey: boolean;
  /** True if the index is enforced at each statement, and not only at the commit (deferrable). */
  readonly isImmediate: boolean;
  readonly columns: readonly string[];
}

export async function readUniqueIndexes(
  connection: Connection,
  schemas: string,
): Promise<readonly CatalogueUniqueIndex[]> {
  const rows = await selectNamed(
    connection,
    {
      owner: "i.indrelid",
      isKey: "i.indisprimary",
      isImmediate: "i.indimmediate",
      columns: columnNames("i.indrelid", "i.indkey", "i.indnkeyatts"),
    },
    `FROM pg_index i
     WHERE i.indrelid IN (${chosenTablesQuery}) AND i.indisunique AND i.indisvalid
       AND i.indpred IS NULL AND i.indexprs IS NULL
     ORDER BY i.indexrelid`,
    schemas,
  );
  return rows.map(({ owner, isKey, isImmediate, columns }) => ({
    owner: String(owner),
    isKey: isKey === "t",
    isImmediate: isImmediate === "t",
    columns: names(columns),
  }));
}

/** A foreign key or a check, as the Postgres catalog describes it. */
export interface CatalogueConstraint {
  readonly owner: string;
  readonly columns: readonly string[];
  /** The table to which a foreign key refers, or null for a check. */
  readonly target: Pick<ForeignKeyDraft, "schema" | "table" | "references"> | null;
  readonly definition: string;
}

/** Reads the foreign keys and checks of all tables from the Postgres catalog. */
export async function readConstraints(
  connection: Connection,
  schemas: string,
): Promise<readonly CatalogueConstraint[]> {
  const rows = await selectNamed(
    connection,
    {
      owner: "k.conrelid",
      columns: columnNames("k.conrelid", "k.conkey", "32767"),
      schema: schemaOf("f.oid", "m.nspname"),
      table: "f.relname",
      references: columnNames("k.confrelid", "k.confkey", "32767"),
      definition: "pg_get_constraintdef(k.oid)",
    },
    `FROM pg_constraint k
     LEFT JOIN pg_class f ON f.oid = k.confrelid
     LEFT JOIN pg_namespace m ON m.oid = f.relnamespace
     WHERE k.conrelid IN (${chosenTablesQuery}) AND k.conparentid = 0
       AND (k.contype = 'c' OR k.contype = 'f' AND f.oid IS NOT NULL)
     ORDER BY k.oid`,
    schemas,
  );
  return rows.map(({ owner, columns, schema, table, references, definition }) => ({
    owner: String(owner),
    columns: columns === null ? [] : names(columns),
    target: typeof table === "string"
      ? { schema: textOrNull(schema), table, references: names(references) }
      : null,
    definition: String(definition),
  }));
}

/**
 * Returns SQL for the schema of a table. It is NULL if the table's name alone finds the table, and
 * no system table has that name.
 */
function schemaOf(table: string, schema: string): string {
  return `CASE WHEN ${schema} IS DISTINCT FROM current_schema() OR NOT pg_table_is_visible(${table})
    THEN ${schema} END`;
}

function columnNames(table: string, numbers: string, count: string): string {
  return `(SELECT json_agg(a.attname ORDER BY each.ordinal)
    FROM unnest(${numbers}) WITH ORDINALITY AS each(number, ordinal)
    JOIN pg_attribute a ON a.attrelid = ${table} AND a.attnum = each.number
    WHERE each.ordinal <= ${count})`;
}

function names(json: SqlValue): string[] {
  return JSON.parse(String(json));
}
