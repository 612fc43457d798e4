import { plainDecimal } from "../../../schema/kinds/number_kinds.ts";
import { type Fragment, identifier, join, rawSql, sql } from "../../../sql/fragment.ts";
import { isJsonIndex, type JsonPathDialect } from "../../../sql/json_path_dialect.ts";
import { toSortableDecimal } from "../../../sql/sortable_decimal.ts";

/**
 * The SQL function that converts a JSON number to a {@link toSortableDecimal} string, because
 * SQLite compares doubles. Returns NULL for over 1,000 digits without an exponent.
 */
export const jsonNumberFunction = {
  name: "service_json_number",
  work(text: unknown): string | null {
    const plain = typeof text === "string" ? plainDecimal(text) : null;
    return plain === null ? null : toSortableDecimal(plain);
  },
} as const;

export const sqliteJsonPaths: JsonPathDialect = {
  at({ dbName }, path) {
    const document = identifier(dbName);
    const paths = path.reduce<readonly string[]>(
      (texts, name) =>
        texts.flatMap((text) => {
          // In a path, SQLite quotes a name as JSON quotes strings.
          const member = `${text}.${JSON.stringify(name)}`;
          return isJsonIndex(name) ? [`${text}[${name}]`, member] : [member];
        }),
      ["$"],
    );
    // At most one path leads to a value, because a container has either indexes or names.
    const first = (value: (path: string) => Fragment) =>
      paths.length === 1
        ? value(paths.join())
        : sql`COALESCE(${join(paths.map((path) => value(path)), ", ")})`;
    // For a string that is not JSON, json_type() would end the statement with an error.
    const type = sql`CASE WHEN json_valid(${document}) THEN ${
      first((path) => sql`json_type(${document}, ${path})`)
    } END`;
    const raw = first((path) => sql`${document} -> ${path}`);
    return {
      type: sql`(${type})`,
      text: sql`(CASE WHEN ${type} = 'text' THEN ${
        first((path) => sql`${document} ->> ${path}`)
      } END)`,
      number: sql`(CASE WHEN ${type} IN ('integer', 'real') THEN ${
        rawSql(jsonNumberFunction.name)
      }(${raw}) END)`,
      boolean: sql`(CASE WHEN ${type} IN ('true', 'false') THEN ${raw} END)`,
    };
  },
  boundNumber: (plain) => sql`${toSortableDecimal(plain)}`,
  numberKind: "text",
};
