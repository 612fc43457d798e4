/** Returns the SQL expression that converts a column of Postgres from one type to another. */
export function columnConversionSql(column: string, from: string, to: string): string {
  const isNumber = /^(?:smallint|integer|bigint|numeric|real|double precision)/;
  if (from === "boolean" && isNumber.test(to)) return `${column}::integer::${to}`;
  if (to === "boolean" && isNumber.test(from)) return `${column} <> 0`;
  // As on SQLite, a string is parsed as a JSON document, and not converted to a JSON string.
  const isText = /^(?:text|character)/.test(from);
  if (/^json/.test(to) && !/^json/.test(from) && !isText) return `to_jsonb(${column})::${to}`;
  return `${column}::${to}`;
}
