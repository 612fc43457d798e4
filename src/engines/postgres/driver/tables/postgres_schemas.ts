import { quoteIdentifier } from "../../../../sql/fragment.ts";
import { nearestName } from "../../../../problem/nearest_name.ts";
import type { Connection } from "../../../../db/driver.ts";
import type { LeftOutSchema } from "../../../../db/introspection.ts";
import { cell, selectNamed } from "../../../../db/named_columns.ts";

export const everySchema = "*";

export interface ChosenSchemas {
  readonly names: readonly string[];
  /** The schema whose tables are named without their schema. Null if there is none. */
  readonly first: string | null;
  readonly areSeveral: boolean;
  readonly leftOut: readonly LeftOutSchema[];
}

export async function chooseSchemas(
  connection: Connection,
  wanted: readonly string[] | undefined,
  roles: readonly string[],
): Promise<ChosenSchemas> {
  const { schemas, path } = await readSchemas(connection, roles);
  const open = schemas.filter(({ isOpen }) => isOpen).map(({ name }) => name);
  // Unlike current_schema(), finds schemas that any of `roles` may use, but no system schemas.
  const current = path.find((name) => open.includes(name)) ?? null;
  const ofPath = current === null ? [] : [current];
  const named = (wanted ?? ofPath).flatMap((name) =>
    name === everySchema ? [...ofPath, ...open] : [name]
  );
  for (const name of named) requireOpen(name, schemas);
  const names = [...new Set(named)];
  const isEvery = wanted?.[0] === everySchema;
  // If no schema in the search path exists, the name of every table contains its schema.
  const first = isEvery ? current : names[0] ?? null;
  const leftOut = schemas.flatMap(({ name, isOpen, tables }) =>
    names.includes(name) || tables === 0 ? [] : [{ schema: name, tables, isOpen }]
  );
  const areSeveral = isEvery || names.length > 1;
  return { names, first, areSeveral, leftOut };
}

interface SchemaRow extends Omit<LeftOutSchema, "schema"> {
  readonly name: string;
}

async function readSchemas(
  connection: Connection,
  roles: readonly string[],
): Promise<{ readonly schemas: readonly SchemaRow[]; readonly path: readonly string[] }> {
  const rows = await selectNamed(
    connection,
    {
      name: cell.text("n.nspname"),
      isOpen: cell.flag(`has_schema_privilege(n.oid, 'USAGE') OR EXISTS (SELECT FROM pg_roles r
        WHERE r.rolname IN (SELECT json_array_elements_text($1::json))
          AND has_schema_privilege(r.oid, n.oid, 'USAGE'))`),
      path: cell.text("replace(current_setting('search_path'), '$user', current_user)"),
      tables: cell.number(`(SELECT count(*) FROM pg_class c
        WHERE c.relnamespace = n.oid AND c.relkind IN ('r', 'p', 'v', 'm', 'f') AND NOT c.relispartition
          AND c.relname !~ '^(_service_|service_fts_)'
          AND (NOT has_schema_privilege(n.oid, 'USAGE') OR has_table_privilege(c.oid, 'SELECT')
            OR EXISTS (SELECT FROM pg_roles r WHERE has_table_privilege(r.oid, c.oid, 'SELECT')
              AND r.rolname IN (SELECT json_array_elements_text($1::json))))
          AND NOT EXISTS (SELECT FROM pg_depend d WHERE d.classid = 'pg_class'::regclass
            AND d.objid = c.oid AND d.deptype = 'e'))`),
    },
    `FROM pg_namespace n WHERE n.nspname !~ '^pg_' AND n.nspname <> 'information_schema'
     ORDER BY n.nspname`,
    JSON.stringify(roles),
  );
  const names = rows[0]?.path.matchAll(/"((?:[^"]|"")*)"|([^\s,"]+)/g) ?? [];
  const nameOf = ([, quoted, bare = ""]: readonly string[]) =>
    quoted?.replaceAll('""', '"') ?? bare.toLowerCase();
  return { schemas: rows, path: Array.from(names, nameOf) };
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

export function tableLabel(
  { schema, name }: { readonly schema: string; readonly name: string },
  { first, areSeveral }: ChosenSchemas,
): string {
  if (!areSeveral) return name;
  return (schema === first ? [name] : [schema, name]).map(quotedPart).join(".");
}

/** Quotes a name with a dot or a quote, because two tables could otherwise have the same label. */
function quotedPart(part: string): string {
  return /[."]/.test(part) ? quoteIdentifier(part) : part;
}
