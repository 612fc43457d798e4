import { firstCodePoints } from "../../../sql/code_points.ts";
import type { PreviewDialect } from "../../../sql/preview_dialect.ts";
import { identifier, sql } from "../../../sql/fragment.ts";

/** Cuts a string as bytes, four for each character, because `substr` stops at U+0000. */
export const sqlitePreview: PreviewDialect = {
  selected({ dbName }, length) {
    const name = identifier(dbName);
    const beginning = sql`substr(CAST(${name} AS BLOB), 1, ${4 * (length + 1)})`;
    const text = sql`coalesce(CAST(${beginning} AS TEXT), '')`;
    const bytes = sql`coalesce(substr(${name}, 1, ${length + 1}), x'')`;
    return sql`CASE typeof(${name}) WHEN 'text' THEN ${text} WHEN 'blob' THEN ${bytes} ELSE ${name} END`;
  },
  cut(cell, _column, length) {
    if (typeof cell === "string") return firstCodePoints(cell, length);
    const isLonger = cell instanceof Uint8Array && cell.length > length;
    return isLonger ? cell.subarray(0, length) : null;
  },
};
