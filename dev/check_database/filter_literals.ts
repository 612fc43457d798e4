import type { ResourceSchema } from "../../src/openapi/service_schema.ts";

/** The operators of filters that SQL also has. */
export const comparisons = [["==", "="], ["!=", "<>"], ["<", "<"], [">=", ">="]] as const;

/** Returns true if a value can be written in a filter. */
export function isPlain(value: unknown): boolean {
  return ["string", "number", "bigint", "boolean"].includes(typeof value) &&
    String(value).length < 200;
}

/** Returns a value in the syntax of filters: a string in quotes. */
export function literal(value: unknown): string {
  return typeof value === "string" ? `"${value.replace(/["\\]/g, "\\$&")}"` : String(value);
}

/** Returns the path of the row with the same key as this row. */
export function pathOfKey(
  { path, primaryKey, fields }: ResourceSchema,
  row: Readonly<Record<string, unknown>>,
): string {
  const parts = primaryKey.map((name) => {
    const isAny = fields.find((field) => field.name === name)?.type === "any";
    const isString = isAny && typeof row[name] === "string" && !/^x'[0-9a-f]*'$/.test(row[name]);
    return encodeURIComponent(isString ? `"${row[name]}"` : String(row[name]));
  });
  // Before a key of one column, a comma lets it be empty or consist of dots.
  return `${path}/${parts.length === 1 ? "," : ""}${parts.join(",")}`;
}
