import { candidatesOf } from "../../resource/model/procedure.ts";
import type { Introspection, IntrospectOptions, LeftOutSchema } from "../../db/introspection.ts";
import type { Runtime } from "../../runtime/runtime.ts";
import { shellQuote } from "../run_service.ts";
import { formatSchemaName } from "./additions.ts";
import type { Database } from "../../db/database.ts";

export async function findTables(
  db: Database,
  options: IntrospectOptions,
  { observe }: Runtime,
): Promise<Pick<Introspection, "tables" | "functions">> {
  try {
    const found = await db.introspect(options);
    const { tables, functions, leftOut, refusedWrites = [], otherSchemas } = found;
    const ofRows = tables.flatMap((table) => table.functionColumns.map((one) => one.rowFunction));
    const all = [
      ...Object.values(functions).flatMap(candidatesOf),
      ...ofRows,
    ];
    for (const name of new Set(all.flatMap((one) => one?.isDefiner ? one.name : []))) {
      const message =
        `the function ${name} runs with the rights of its owner (SECURITY DEFINER), ` +
        "so row level security does not restrict it as its caller";
      observe({ kind: "notice", message });
    }
    for (const { table, reason } of leftOut) observe({ kind: "table_left_out", table, reason });
    for (const { table, reason } of refusedWrites) {
      observe({ kind: "notice", message: `some writes of ${table} are refused: ${reason}` });
    }
    if (tables.length === 0) {
      const place = options.schemas === undefined
        ? "the first schema of its search path"
        : "those schemas";
      throw new Error(
        `Cannot serve ${db.label}: it has no table that can be read${
          elsewhere(otherSchemas, place)
        }`,
      );
    }
    for (const other of otherSchemas.slice(0, maxLines)) {
      observe({ kind: "schema_left_out", schema: other.schema, reason: reasonOf(other) });
    }
    if (otherSchemas.length > maxLines) {
      const message = `${otherSchemas.length - maxLines} more schemas are left out`;
      observe({ kind: "notice", message });
    }
    return { tables, functions };
  } catch (error) {
    await db.close();
    throw error;
  }
}

function elsewhere(schemas: readonly LeftOutSchema[], place: string): string {
  const open = schemas.filter(({ isOpen }) => isOpen);
  if (open.length === 0) return "";
  const named = open.slice(0, maxNamed).map((one) => `${optionFor(one)} serves ${countOf(one)}`);
  const more = open.length > maxNamed ? [`${open.length - maxNamed} more schemas have some`] : [];
  return ` in ${place}; ${[...named, ...more].join(", ")}`;
}

/** Maximum number of schemas in a message: some databases have a schema for each tenant. */
const maxNamed = 5;
const maxLines = 20;

function reasonOf(schema: LeftOutSchema): string {
  return schema.isOpen
    ? `${countOf(schema)}; ${optionFor(schema)} serves ${schema.tables === 1 ? "it" : "them"}`
    : `${countOf(schema)}, and this user may not use it`;
}

function countOf({ tables }: LeftOutSchema): string {
  return tables === 1 ? "one table or view" : `${tables} tables and views`;
}

function optionFor({ schema }: LeftOutSchema): string {
  const name = formatSchemaName(schema);
  return `--schema ${/^[\w.-]+$/.test(name) ? name : shellQuote(name)}`;
}
