import { kindsByName } from "../../../../schema/kinds/kind_properties.ts";
import type { ColumnKind } from "../../../../schema/kind.ts";
import {
  type ColumnInfo,
  type DatabaseType,
  plainColumn,
  type ValueShape,
} from "../../../../schema/table_info.ts";
import { quoteIdentifier, type SqlValue } from "../../../../sql/fragment.ts";
import type { Connection } from "../../../../db/driver.ts";
import { selectNamed } from "../../../../db/named_columns.ts";
import type { EnumLabels } from "./enum_labels.ts";
import { chosenTablesQuery } from "./postgres_catalogue.ts";

/** The properties of a Postgres column that its type determines. */
export interface PostgresType {
  /** The name of the type, for example `int4`, or of the type on which a domain is based. */
  readonly baseName: string;
  readonly kind: ColumnKind;
  /** The Postgres type, or null if the column's kind describes it completely. */
  readonly databaseType: DatabaseType | null;
  /** The labels of an enum in their order, or null for any other type. */
  readonly labels: readonly string[] | null;
}

/** Reads the types of all columns from the Postgres catalog, by their OIDs. */
export async function readTypes(
  connection: Connection,
  schemas: string,
  enums: EnumLabels,
): Promise<ReadonlyMap<string, PostgresType>> {
  const rows = await selectNamed(
    connection,
    {
      id: "t.oid",
      name: "t.typname",
      schema: "n.nspname",
      shown: "format_type(t.oid, NULL)",
      base: "nullif(t.typbasetype, 0)",
      element: `CASE WHEN ${isArray} THEN t.typelem END`,
      delimiter: "(SELECT e.typdelim FROM pg_type e WHERE e.oid = t.typelem)",
      dimensions: `greatest(t.typndims, (SELECT max(a.attndims) FROM pg_attribute a
        WHERE a.atttypid = t.oid AND a.attrelid IN (${chosenTablesQuery})))`,
      members: `(SELECT json_agg(json_build_object('name', a.attname, 'type', a.atttypid::text)
        ORDER BY a.attnum) FROM pg_attribute a WHERE t.typtype = 'c' AND a.attrelid = t.typrelid
        AND a.attnum > 0 AND NOT a.attisdropped)`,
      isOrdered: `t.typtype IN ('e', 'r', 'm') OR t.typtype = 'b' AND t.oid IN (${sortedTypes})`,
      hasExtremes: `t.typtype = 'e' OR EXISTS (SELECT FROM pg_proc p WHERE p.proname = 'min'
        AND p.prokind = 'a' AND p.pronargs = 1 AND p.proargtypes[0] = t.oid)`,
      isExtension: `EXISTS (SELECT FROM pg_depend d WHERE d.classid = 'pg_type'::regclass
        AND d.objid = t.oid AND d.deptype = 'e')`,
      labels: `(SELECT json_agg(e.enumlabel ORDER BY e.enumsortorder) FROM pg_enum e
        WHERE e.enumtypid = t.oid)`,
    },
    `FROM pg_type t JOIN pg_namespace n ON n.oid = t.typnamespace
     WHERE t.oid IN (${usedTypes})`,
    schemas,
  );
  const catalogue = { rows: new Map(rows.map((row) => [String(row.id), row])), enums };
  return new Map([...catalogue.rows.keys()].map((id) => [id, typeOf(id, catalogue)]));
}

type CatalogueRow = Awaited<ReturnType<typeof selectNamed>>[number];

interface Catalogue {
  readonly rows: ReadonlyMap<string, CatalogueRow>;
  readonly enums: EnumLabels;
}

/** `oidvector` and similar types have elements but are not arrays. */
const isArray = "EXISTS (SELECT FROM pg_type e WHERE e.oid = t.typelem AND e.typarray = t.oid)";

const usedTypes = `
  WITH RECURSIVE used(oid) AS (
    SELECT a.atttypid FROM pg_attribute a
    WHERE a.attrelid IN (${chosenTablesQuery}) AND a.attnum > 0 AND NOT a.attisdropped
    UNION
    SELECT part.oid FROM used JOIN pg_type t ON t.oid = used.oid CROSS JOIN LATERAL (
      SELECT t.typbasetype WHERE t.typtype = 'd'
      UNION ALL SELECT t.typelem WHERE ${isArray}
      UNION ALL SELECT a.atttypid FROM pg_attribute a WHERE t.typtype = 'c'
        AND a.attrelid = t.typrelid AND a.attnum > 0 AND NOT a.attisdropped
    ) AS part(oid)
  )
  SELECT oid FROM used`;

/**
 * The types with an order of their own or of a base type, such as `cidr`. Types like `regclass` are
 * excluded, because Postgres orders them by internal numbers and not by names.
 */
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
  return row.base === null ? row : baseOf(String(row.base), catalogue);
}

function typeOf(id: string, catalogue: Catalogue): PostgresType {
  const row = baseOf(id, catalogue);
  const baseName = String(row.name);
  const found: readonly string[] | null = jsonOf(row.labels);
  const labels = found === null ? null : catalogue.enums.of(String(row.id), found);
  const kind = kinds.get(baseName);
  if (kind !== undefined) return { baseName, kind, databaseType: null, labels };
  const shape = shapeOf(row, catalogue);
  return {
    baseName,
    kind: shape.kind === "text" ? "text" : "json",
    databaseType: {
      sqlName: `${quoteIdentifier(String(row.schema))}.${quoteIdentifier(baseName)}`,
      shape,
      ordered: isOrdered(row, shape, catalogue),
      hasExtremes: row.hasExtremes === "t" || isOrdered(row, shape, catalogue) && isList(shape),
      ignoresCase: baseName === "citext" && row.isExtension === "t",
    },
    labels,
  };
}

function shapeOf(row: CatalogueRow, catalogue: Catalogue): ValueShape {
  if (typeof row.element === "string") {
    return {
      kind: "list",
      element: memberOf("element", row.element, catalogue),
      delimiter: String(row.delimiter),
      dimensions: Math.max(1, Number(row.dimensions)),
    };
  }
  const members: readonly Member[] | null = jsonOf(row.members);
  if (members !== null) {
    const fields = members.map(({ name, type }) => memberOf(name, type, catalogue));
    return { kind: "record", fields };
  }
  return { kind: row.name === "hstore" && row.isExtension === "t" ? "map" : "text" };
}

interface Member {
  readonly name: string;
  readonly type: string;
}

function isList({ kind }: ValueShape): boolean {
  return kind === "list";
}

/** Returns true if values of the type have an order. Postgres compares lists element by element. */
function isOrdered(row: CatalogueRow, shape: ValueShape, catalogue: Catalogue): boolean {
  if (shape.kind === "text") return row.isOrdered === "t";
  if (shape.kind !== "list") return false;
  const element = baseOf(String(row.element), catalogue);
  return element.isOrdered === "t" || kinds.get(String(element.name)) === "text";
}

function memberOf(name: string, type: string, catalogue: Catalogue): ColumnInfo {
  const { baseName, kind, databaseType, labels } = typeOf(type, catalogue);
  return {
    ...plainColumn,
    ...{ name, dbName: name, kind, enumValues: labels },
    existingType: String(baseOf(type, catalogue).shown),
    isWide: baseName === "int8",
    ...(databaseType === null ? {} : { databaseType }),
  };
}

function jsonOf<T>(cell: SqlValue | undefined): T | null {
  return cell === null || cell === undefined ? null : JSON.parse(String(cell));
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
