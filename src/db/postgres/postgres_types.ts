import type { ColumnKind } from "../../schema/kind.ts";
import type { DatabaseType } from "../../schema/table_info.ts";
import { quoteIdentifier } from "../../sql/fragment.ts";
import type { Connection } from "../driver.ts";
import { selectNamed } from "../named_columns.ts";
import { chosenTables } from "./postgres_catalogue.ts";

/** What a column of Postgres has from its type. */
export interface PostgresType {
  /** The name below all domains, e.g. `int4`. */
  readonly baseName: string;
  readonly kind: ColumnKind;
  /** Null where the kind stands for the type. */
  readonly databaseType: DatabaseType | null;
  /** The labels of an enum, in their order. */
  readonly labels: readonly string[] | null;
}

/** Reads the types of all columns from the catalogue of Postgres, by their numbers. */
export async function readTypes(
  connection: Connection,
  schemas: string | null,
): Promise<ReadonlyMap<string, PostgresType>> {
  const rows = await selectNamed(
    connection,
    {
      id: "t.oid",
      name: "t.typname",
      schema: "n.nspname",
      base: "nullif(t.typbasetype, 0)",
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
  const catalogue = new Map(rows.map((row) => [String(row.id), row]));
  const below = (id: string): CatalogueRow | undefined => {
    const row = catalogue.get(id);
    return row === undefined || row.base === null ? row : below(String(row.base));
  };
  return new Map(
    [...catalogue.keys()].flatMap((id) => {
      const row = below(id);
      return row === undefined ? [] : [[id, typeOf(row)] as const];
    }),
  );
}

type CatalogueRow = Awaited<ReturnType<typeof selectNamed>>[number];

/** The types of the columns, and those that these are made of. */
const usedTypes = `
  WITH RECURSIVE used(oid) AS (
    SELECT a.atttypid FROM pg_attribute a
    WHERE a.attrelid IN (${chosenTables}) AND a.attnum > 0 AND NOT a.attisdropped
    UNION
    SELECT part.oid FROM used JOIN pg_type t ON t.oid = used.oid CROSS JOIN LATERAL (
      SELECT t.typbasetype WHERE t.typtype = 'd'
    ) AS part(oid)
  )
  SELECT oid FROM used`;

/**
 * The types with an order of their own, or with that of a type whose values they are, as `cidr`. The
 * order of `regclass` and the like is that of numbers that none of them shows.
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

function typeOf(row: CatalogueRow): PostgresType {
  const baseName = String(row.name);
  const labels: readonly string[] | null = row.labels === null
    ? null
    : JSON.parse(String(row.labels));
  const kind = kinds.get(baseName);
  if (kind !== undefined) return { baseName, kind, databaseType: null, labels };
  const isText = textTypes.has(baseName);
  return {
    baseName,
    kind: "text",
    databaseType: isText ? null : {
      sqlName: `${quoteIdentifier(String(row.schema))}.${quoteIdentifier(baseName)}`,
      form: "text",
      ordered: row.isOrdered === "t",
      hasExtremes: row.hasExtremes === "t",
      ignoresCase: baseName === "citext" && row.isExtension === "t",
    },
    labels,
  };
}

/** The types that a kind stands for. */
const kinds: ReadonlyMap<string, ColumnKind> = new Map([
  ["int2", "integer"],
  ["int4", "integer"],
  ["int8", "integer"],
  ["float4", "real"],
  ["float8", "real"],
  ["numeric", "decimal"],
  ["bool", "boolean"],
  ["timestamp", "timestamp"],
  ["timestamptz", "timestamp"],
  ["date", "date"],
  ["uuid", "uuid"],
  ["json", "json"],
  ["jsonb", "json"],
  ["bytea", "bytes"],
]);

/** These compare as texts do. */
const textTypes: ReadonlySet<string> = new Set(["text", "varchar", "bpchar"]);
