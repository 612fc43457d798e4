/** The SQL by which a column of Postgres becomes one of another type. */
export function conversion(column: string, from: string, to: string): string {
  const isNumber = /^(?:smallint|integer|bigint|numeric|real|double precision)/;
  if (from === "boolean" && isNumber.test(to)) return `${column}::integer::${to}`;
  if (to === "boolean" && isNumber.test(from)) return `${column} <> 0`;
  // A text is itself and not a document that it may be the text of.
  if (/^json/.test(from) && to === "text") return `${column} #>> '{}'`;
  if (/^json/.test(to) && !/^json/.test(from)) return `to_jsonb(${column})::${to}`;
  return `${column}::${to}`;
}
