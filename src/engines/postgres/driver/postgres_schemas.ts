import { nearestName } from "../../../problem/nearest_name.ts";
import type { Connection } from "../../../db/driver.ts";
import type { LeftOutSchema } from "../../../db/introspection.ts";
import { selectNamed, textOrNull } from "../../../db/named_columns.ts";

/** In the option `schemas`: every schema that is neither the server's nor closed to the role. */
export const everySchema = "*";

/** Which schemas of a Postgres are described. */
export interface ChosenSchemas {
  /** In the order in which their tables are listed; the tables of the first have short names. */
  readonly names: readonly string[];
  /** The one whose tables have short names; null if the search path has none that exists. */
  readonly first: string | null;
  /** True if more than one was asked for: `*` is several, whatever there is now. */
  readonly areSeveral: boolean;
  /** The others that have tables. */
  readonly leftOut: readonly LeftOutSchema[];
}

/**
 * Chooses the schemas to describe: the wanted ones, or the first one of the search path. Throws an
 * Error of one sentence for one that does not exist, or that the role may not use.
 */
export async function chooseSchemas(
  connection: Connection,
  wanted: readonly string[] | undefined,
): Promise<ChosenSchemas> {
  const { schemas, current } = await readSchemas(connection);
  const open = schemas.filter(({ isOpen }) => isOpen).map(({ name }) => name);
  const ofPath = current === null ? [] : [current];
  const named = (wanted ?? ofPath).flatMap((name) =>
    name === everySchema ? [...ofPath, ...open] : [name]
  );
  for (const name of named) requireOpen(name, schemas);
  const names = [...new Set(named)];
  const isEvery = wanted?.[0] === everySchema;
  // Where the search path has none, no other schema takes the place of the first.
  const first = isEvery ? current : names[0] ?? null;
  const leftOut = schemas.flatMap(({ name, isOpen, tables }) =>
    names.includes(name) || tables === 0 ? [] : [{ schema: name, tables, isOpen }]
  );
  const areSeveral = isEvery || names.length > 1;
  return { names, first, areSeveral, leftOut };
}

interface SchemaRow {
  readonly name: string;
  /** True if the role may use it. */
  readonly isOpen: boolean;
  /** How many of its tables and views could be served. */
  readonly tables: number;
}

async function readSchemas(
  connection: Connection,
): Promise<{ readonly schemas: readonly SchemaRow[]; readonly current: string | null }> {
  const rows = await selectNamed(
    connection,
    {
      name: "n.nspname",
      isOpen: "has_schema_privilege(n.oid, 'USAGE')",
      current: "current_schema()",
      tables: `(SELECT count(*) FROM pg_class c
        WHERE c.relnamespace = n.oid AND c.relkind IN ('r', 'p', 'v', 'm', 'f') AND NOT c.relispartition
          AND c.relname !~ '^(_service_|service_fts_)'
          AND (NOT has_schema_privilege(n.oid, 'USAGE') OR has_table_privilege(c.oid, 'SELECT'))
          AND NOT EXISTS (SELECT FROM pg_depend d WHERE d.classid = 'pg_class'::regclass
            AND d.objid = c.oid AND d.deptype = 'e'))`,
    },
    `FROM pg_namespace n WHERE n.nspname !~ '^pg_' AND n.nspname <> 'information_schema'
     ORDER BY n.nspname`,
  );
  return {
    schemas: rows.map(({ name, isOpen, tables }) => ({
      name: String(name),
      isOpen: isOpen === "t",
      tables: Number(tables),
    })),
    current: textOrNull(rows[0]?.current ?? null),
  };
}

function requireOpen(name: string, schemas: readonly SchemaRow[]): void {
  const found = schemas.find((schema) => schema.name === name);
  if (found?.isOpen) return;
  const shown = JSON.stringify(name);
  if (found !== undefined) {
    throw new Error(`Cannot read the schema ${shown}: this user may not use it`);
  }
  if (/^pg_|^information_schema$/.test(name)) {
    throw new Error(`Cannot read the schema ${shown}: it is the server's own`);
  }
  const names = schemas.map((schema) => schema.name);
  const near = nearestName(name.toLowerCase(), names.map((one) => one.toLowerCase()));
  const meant = names.find((one) => one.toLowerCase() === near);
  throw new Error(
    `Cannot read the schema ${shown}: there is none of this name` +
      (meant === undefined ? "" : `, did you mean ${JSON.stringify(meant)}?`),
  );
}

/**
 * The name of a table in paths: its own in the first schema, elsewhere `schema.table`. It depends on
 * no other table, so that none that is added later changes it.
 */
export function labelOf(
  { schema, name }: { readonly schema: string; readonly name: string },
  { first, areSeveral }: ChosenSchemas,
): string {
  if (!areSeveral) return name;
  return (schema === first ? [name] : [schema, name]).map(quotedPart).join(".");
}

/** Quoted where a dot or a quote could make two tables have one name. */
function quotedPart(part: string): string {
  return /[."]/.test(part) ? `"${part.replaceAll('"', '""')}"` : part;
}
