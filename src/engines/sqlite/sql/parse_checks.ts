import { parseCreateTable } from "../../../sql/statements/parse_create_table.ts";
import { ddlTokens, nameOfToken } from "../../../sql/statements/normal_sql.ts";

/** Returns the columns of the CHECK whose name or SQL is `failed`, if there is exactly one. */
export function columnsOfCheck(
  createTable: string,
  failed: string,
  columns: readonly string[],
): readonly string[] {
  const [check, another] = parseCreateTable(createTable).definitions
    .flatMap(({ constraints }) => constraints.flatMap((one) => one.kind === "check" ? one : []))
    .filter(({ name, sql }) =>
      name === null ? sql === failed || firstQuoted(sql) === failed : name === failed
    );
  if (check === undefined || another !== undefined) return [];
  const named = new Set(ddlTokens(check.sql).map((token) => nameOfToken(token).toLowerCase()));
  return columns.filter((column) => named.has(column.toLowerCase()));
}

/** Returns a CHECK's first name if it is quoted: SQLite then reports only this name as failed. */
function firstQuoted(text: string): string | null {
  const [first = ""] = ddlTokens(text);
  const name = nameOfToken(first);
  return name === first ? null : name;
}
