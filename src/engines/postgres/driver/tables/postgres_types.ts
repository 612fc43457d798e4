import { kindsByName } from "../../../../schema/kinds/kind_properties.ts";
import type { ColumnKind } from "../../../../schema/kind.ts";
import {
  type ColumnInfo,
  type DatabaseType,
  plainColumn,
  type ValueShape,
} from "../../../../schema/table_info.ts";
import { quoteIdentifier } from "../../../../sql/fragment.ts";
import type { Connection } from "../../../../db/driver.ts";
import { cell, selectNamed } from "../../../../db/named_columns.ts";
import { chosenTablesQuery } from "./postgres_catalogue.ts";

export interface PostgresType {
  readonly baseName: string;
  readonly kind: ColumnKind;
  /** The Postgres type, or null if the column's kind describes it completely. */
  readonly databaseType: DatabaseType | null;
  readonly labels: readonly string[] | null;
}

export async function readTypes(
  connection: Connection,
  schemas: string,
  enums: EnumLabels,
): Promise<PostgresTypes> {
  const catalogue = { rows: await readCatalogue(connection, schemas), enums };
  return {
    byId: new Map([...catalogue.rows.keys()].map((id) => [id, typeOf(id, catalogue)])),
    column: (name, id) => catalogue.rows.has(id) ? memberOf(name, id, catalogue) : null,
    membersOf: (id) => catalogue.rows.get(id)?.members ?? [],
  };
}

export interface PostgresTypes {
  readonly byId: ReadonlyMap<string, PostgresType>;
  column(name: string, type: string): ColumnInfo | null;
  membersOf(type: string): readonly Member[];
}

async function readCatalogue(connection: Connection, schemas: string) {
  const rows = await selectNamed(
    connection,
    {
      id: cell.text("t.oid"),
      name: cell.text("t.typname"),
      schema: cell.text("n.nspname"),
      shown: cell.text("format_type(t.oid, NULL)"),
      base: cell.textOrNull("nullif(t.typbasetype, 0)"),
      element: cell.textOrNull(`CASE WHEN ${isArray} THEN t.typelem END`),
      delimiter: cell.text("(SELECT e.typdelim FROM pg_type e WHERE e.oid = t.typelem)"),
      dimensions: cell.number(`greatest(t.typndims, (SELECT max(a.attndims) FROM pg_attribute a
        WHERE a.atttypid = t.oid AND a.attrelid IN (${chosenTablesQuery})))`),
      members: cell.list<Member>(
        `(SELECT json_agg(json_build_object('name', a.attname, 'type', a.atttypid::text)
        ORDER BY a.attnum) FROM pg_attribute a WHERE t.typtype = 'c' AND a.attrelid = t.typrelid
        AND a.attnum > 0 AND NOT a.attisdropped)`,
      ),
      isOrdered: cell.flag(
        `t.typtype IN ('e', 'r', 'm') OR t.typtype = 'b' AND ${hasOperators} AND
         t.oid IN (${sortedTypes})`,
      ),
      hasOperators: cell.flag(hasOperators),
      hasExtremes: cell.flag(
        `t.typtype = 'e' OR EXISTS (SELECT FROM pg_proc p WHERE p.proname = 'min'
        AND p.prokind = 'a' AND p.pronargs = 1 AND p.proargtypes[0] = t.oid
        AND pg_function_is_visible(p.oid))`,
      ),
      isExtension: cell.flag(`EXISTS (SELECT FROM pg_depend d WHERE d.classid = 'pg_type'::regclass
        AND d.objid = t.oid AND d.deptype = 'e')`),
      labels: cell.list(`(SELECT json_agg(e.enumlabel ORDER BY e.enumsortorder) FROM pg_enum e
        WHERE e.enumtypid = t.oid)`),
    },
    `FROM pg_type t JOIN pg_namespace n ON n.oid = t.typnamespace
     WHERE t.oid IN (${usedTypes})`,
    schemas,
  );
  return new Map(rows.map((row) => [row.id, row]));
}

/** SQL: true if a type's operators are in the search path. Other values are compared as text. */
const hasOperators = "n.nspname = ANY (current_schemas(true))";

type CatalogueRows = Awaited<ReturnType<typeof readCatalogue>>;
type CatalogueRow = CatalogueRows extends Map<string, infer Row> ? Row : never;

interface Catalogue {
  readonly rows: CatalogueRows;
  readonly enums: EnumLabels;
}

/** SQL that is true for arrays. `oidvector` and similar types have elements but are no arrays. */
const isArray = "EXISTS (SELECT FROM pg_type e WHERE e.oid = t.typelem AND e.typarray = t.oid)";

const usedTypes = `
  WITH RECURSIVE used(oid) AS (
    SELECT a.atttypid FROM pg_attribute a
    WHERE a.attrelid IN (${chosenTablesQuery}) AND a.attnum > 0 AND NOT a.attisdropped
    UNION
    SELECT unnest(p.prorettype || coalesce(p.proallargtypes, p.proargtypes::oid[]))
    FROM pg_proc p JOIN pg_namespace n ON n.oid = p.pronamespace
    WHERE n.nspname IN (SELECT json_array_elements_text($1::json)) AND p.prokind = 'f'
    UNION
    SELECT part.oid FROM used JOIN pg_type t ON t.oid = used.oid CROSS JOIN LATERAL (
      SELECT t.typbasetype WHERE t.typtype = 'd'
      UNION ALL SELECT t.typelem WHERE ${isArray}
      UNION ALL SELECT a.atttypid FROM pg_attribute a WHERE t.typtype = 'c'
        AND a.attrelid = t.typrelid AND a.attnum > 0 AND NOT a.attisdropped
    ) AS part(oid)
  )
  SELECT oid FROM used`;

/** Types with an order, such as `cidr`. Excludes types of internal numbers, like `regclass`. */
const sortedTypes = `
  SELECT s.oid FROM (
    SELECT o.opcintype FROM pg_opclass o JOIN pg_am m ON m.oid = o.opcmethod
    WHERE m.amname = 'btree' AND o.opcdefault
  ) AS sorted(oid) CROSS JOIN LATERAL (
    SELECT sorted.oid UNION ALL SELECT c.castsource FROM pg_cast c
    WHERE c.casttarget = sorted.oid AND c.castmethod = 'b' AND c.castcontext = 'i'
      AND c.casttarget <> 'oid'::regtype
  ) AS s(oid)`;

function baseOf(id: string, catalogue: Catalogue): CatalogueRow {
  const row = catalogue.rows.get(id);
  if (row === undefined) throw new Error(`The catalogue describes no type ${id}`);
  return row.base === null ? row : baseOf(row.base, catalogue);
}

function typeOf(id: string, catalogue: Catalogue): PostgresType {
  const row = baseOf(id, catalogue);
  const { name: baseName } = row;
  const labels = row.labels.length === 0 ? null : catalogue.enums.of(row.id, row.labels);
  const kind = kinds.get(baseName);
  if (kind !== undefined) return { baseName, kind, databaseType: null, labels };
  const shape = shapeOf(row, catalogue);
  return {
    baseName,
    kind: shape.kind === "text" ? "text" : "json",
    databaseType: {
      sqlName: `${quoteIdentifier(row.schema)}.${quoteIdentifier(baseName)}`,
      shape,
      ordered: isOrdered(row, shape, catalogue),
      hasExtremes: row.hasExtremes || isOrdered(row, shape, catalogue) && shape.kind === "list",
      ignoresCase: baseName === "citext" && row.isExtension && row.hasOperators,
      ...(baseName === "tsvector" && row.schema === "pg_catalog" ? { configuration: null } : {}),
    },
    labels,
  };
}

function shapeOf(row: CatalogueRow, catalogue: Catalogue): ValueShape {
  if (row.element !== null) {
    return {
      kind: "list",
      element: memberOf("element", row.element, catalogue),
      delimiter: row.delimiter,
      dimensions: Math.max(1, row.dimensions),
    };
  }
  if (row.members.length > 0) {
    const fields = row.members.map(({ name, type }) => memberOf(name, type, catalogue));
    return { kind: "record", fields };
  }
  return { kind: row.name === "hstore" && row.isExtension ? "map" : "text" };
}

export interface Member {
  readonly name: string;
  readonly type: string;
}

/** Returns true if values of the type have an order. Postgres compares lists element by element. */
function isOrdered(row: CatalogueRow, shape: ValueShape, catalogue: Catalogue): boolean {
  if (shape.kind === "text") return row.isOrdered;
  if (shape.kind !== "list" || row.element === null) return false;
  const element = baseOf(row.element, catalogue);
  return element.isOrdered || kinds.get(element.name) === "text";
}

function memberOf(name: string, type: string, catalogue: Catalogue): ColumnInfo {
  const { baseName, kind, databaseType, labels } = typeOf(type, catalogue);
  return {
    ...plainColumn,
    ...{ name, dbName: name, kind, enumValues: labels },
    existingType: baseOf(type, catalogue).shown,
    isWide: baseName === "int8",
    ...(databaseType === null ? {} : { databaseType }),
  };
}

const kinds = kindsByName({
  text: ["text", "varchar", "bpchar"],
  integer: ["int2", "int4", "int8"],
  // No type has the kind `bigint`, because a BIGINT column has the kind `integer`.
  bigint: [],
  real: ["float4", "float8"],
  decimal: ["numeric"],
  boolean: ["bool"],
  timestamp: ["timestamp", "timestamptz"],
  date: ["date"],
  uuid: ["uuid"],
  json: ["json", "jsonb"],
  bytes: ["bytea"],
});

/** Adds the text search configuration to a `tsvector` type, if the SQL names exactly one. */
export function withConfiguration(type: DatabaseType, wordsSql: string | null): DatabaseType {
  const names = wordsSql?.matchAll(
    /to_tsvector\s*\(\s*'([^']+)'|tsvector_update_trigger\s*\('[^']*', '([^']+)'/gi,
  ) ?? [];
  const [name, other] = new Set([...names].map(([, first, second]) => first ?? second));
  return name === undefined || other !== undefined ? type : { ...type, configuration: name };
}

/** The labels of enum types, shared by columns. `ALTER TYPE` can change them at any time. */
export class EnumLabels {
  readonly #lists = new Map<string, string[]>();

  /** Returns the list of a type's labels. Each refresh changes this list in place. */
  of(type: string, labels: readonly string[]): readonly string[] {
    const list = this.#lists.get(type) ?? [...labels];
    this.#lists.set(type, list);
    return list;
  }

  get isEmpty(): boolean {
    return this.#lists.size === 0;
  }

  async refresh(connection: Connection): Promise<boolean> {
    const rows = await selectNamed(
      connection,
      {
        type: cell.text("enumtypid"),
        labels: cell.list("json_agg(enumlabel ORDER BY enumsortorder)"),
      },
      "FROM pg_enum GROUP BY enumtypid",
    );
    let isChanged = false;
    for (const { type, labels } of rows) {
      const list = this.#lists.get(type);
      if (list === undefined || JSON.stringify(list) === JSON.stringify(labels)) continue;
      list.splice(0, list.length, ...labels);
      isChanged = true;
    }
    return isChanged;
  }
}
