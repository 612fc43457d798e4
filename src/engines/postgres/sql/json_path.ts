import type { ColumnInfo } from "../../../schema/table_info.ts";
import { type Fragment, identifier, rawSql, sql } from "../../../sql/fragment.ts";
import { isJsonIndex, type JsonPathDialect } from "../../../sql/json_path_dialect.ts";
import { introspectedTypeName } from "./introspected_type.ts";

interface WholeDocuments {
  whole(column: ColumnInfo): { readonly document: Fragment; readonly type: Fragment };
}

export const postgresJsonPaths: JsonPathDialect & WholeDocuments = {
  whole(column) {
    const isText = keepsText(column);
    const document = isText ? readable(column) : identifier(column.dbName);
    return {
      document: isText ? sql`${document}::jsonb` : document,
      type: sql`${rawSql(isText ? "json_typeof" : "jsonb_typeof")}(${document})`,
    };
  },
  at(column, path) {
    const isText = keepsText(column);
    const value = path.reduce<Fragment>(
      (value, name) =>
        isJsonIndex(name)
          ? sql`(${value} #> ${`{${name}}`}::text[])`
          : sql`(${value} -> ${name}::text)`,
      isText ? readable(column) : identifier(column.dbName),
    );
    const type = sql`${rawSql(isText ? "json_typeof" : "jsonb_typeof")}(${value})`;
    const text = sql`(${value} #>> '{}')`;
    return {
      type,
      text: sql`(CASE WHEN ${type} = 'string' THEN ${text} END COLLATE "C")`,
      number: sql`(CASE WHEN ${type} = 'number' AND length(${text}) <= 1001 AND ${text} ~ ${
        rawSql(castableNumber)
      } THEN ${text}::numeric END)`,
      boolean: sql`(CASE WHEN ${type} = 'boolean' THEN ${text} END)`,
    };
  },
  boundNumber: (plain) => sql`${plain}::numeric`,
  numberKind: "decimal",
};

/** Returns true if a `json` document has an escaped character that Postgres strings cannot have. */
export function isUnreadableDocument(document: string): boolean {
  return document.includes("\\u") && unreadableText.test(document);
}

/** Matches a number that can be cast. A longer exponent would make the cast fail. */
const castableNumber = `'^[-0-9.]+([eE][-+]?[0-9]{1,3})?$'`;

function keepsText(column: ColumnInfo): boolean {
  return column.existingType !== null && introspectedTypeName(column) !== "jsonb";
}

/** Returns the `json` document, or NULL if it has an escape that no Postgres string can contain. */
function readable({ dbName }: ColumnInfo): Fragment {
  const document = sql`${identifier(dbName)}::json`;
  const source = sql`${identifier(dbName)}::text`;
  return sql`(CASE WHEN strpos(${source}, ${rawSql(`E'\\\\u'`)}) = 0 OR ${source} !~ ${
    rawSql(`E'${unreadable.replaceAll("\\", "\\\\")}'`)
  } THEN ${document} END)`;
}

/** NUL or an unpaired surrogate, as an escape after an even number of backslashes. */
const unreadable = "(^|[^\\\\])(\\\\\\\\)*(\\\\u0000|\\\\u[dD][89abAB]..(?!\\\\u[dD][c-fC-F])|" +
  "(?<!\\\\u[dD][89abAB]..)\\\\u[dD][c-fC-F])";

const unreadableText = new RegExp(unreadable);
