/** The SQL by which a column of Postgres becomes one of another type. */
export function conversion(column: string, from: string, to: string): string {
  const isNumber = /^(?:smallint|integer|bigint|numeric|real|double precision)/;
  if (from === "boolean" && isNumber.test(to)) return `${column}::integer::${to}`;
  if (to === "boolean" && isNumber.test(from)) return `${column} <> 0`;
  // A string is the document that it is the text of, as SQLite takes it, and the other way round.
  const isText = /^(?:text|character)/.test(from);
  if (/^json/.test(to) && !/^json/.test(from) && !isText) return `to_jsonb(${column})::${to}`;
  return `${column}::${to}`;
}
