import { bytesToHex } from "../../../protocol/byte_text.ts";
import { isDocument } from "../../../schema/structured/structured_value.ts";
import type { ColumnInfo } from "../../../schema/table_info.ts";
import type { ImageDialect, RowImages } from "../../../sql/dialect.ts";
import { isUnreadableDocument } from "./json_path.ts";
import { type Fragment, identifier, sql, type SqlValue } from "../../../sql/fragment.ts";

export const postgresImages: ImageDialect = { maxRows: 1_000, batchKey: () => "", from };

function from({ table, from, columns, rows, ordinal }: RowImages): Fragment {
  const names = columns.map(({ dbName }) => JSON.stringify(dbName));
  const images = rows.map((row) => {
    const cells = columns.map((column, index) =>
      `${names[index]}:${cell(row[index] ?? null, column)}`
    );
    return `{${cells.join()}}`;
  });
  const [numbered, image] = [identifier(`${ordinal}_rows`), identifier(`${ordinal}_image`)];
  const elements = sql`jsonb_array_elements(${`[${images.join()}]`}::jsonb)`;
  const named = sql`${elements} WITH ORDINALITY AS ${numbered} (${image}, ${identifier(ordinal)})`;
  const row = sql`jsonb_populate_record(NULL::${from}, ${image}) AS ${identifier(table.name)}`;
  return sql`${named} CROSS JOIN LATERAL ${row}`;
}

function cell(value: SqlValue, column: ColumnInfo): string {
  if (value === null) return "null";
  if (value instanceof Uint8Array) return JSON.stringify(`\\x${bytesToHex(value)}`);
  if (!isDocument(column)) return JSON.stringify(String(value));
  // `jsonb` rejects an unreadable document. No filter matches in it, so the image has `[]` instead.
  const document = String(value);
  return isUnreadableDocument(document) ? "[]" : withCastableNumbers(document);
}

/** Replaces numbers like `1e999999`, which `jsonb` rejects and which no filter can match. */
function withCastableNumbers(document: string): string {
  if (!/[eE][+-]?\d{4}/.test(document)) return document;
  return document.replace(
    /"(?:[^"\\]|\\.)*"|(-?)\d[\d.]*[eE]([+-]?)\d{4,}/g,
    (part, sign?: string, direction?: string) =>
      part.startsWith('"') ? part : `${sign}1e${direction}1001`,
  );
}
