import { firstCodePoints } from "../../../sql/code_points.ts";
import type { PreviewDialect } from "../../../sql/preview_dialect.ts";
import { identifier, sql } from "../../../sql/fragment.ts";

/** Reads only the beginnings of values. Postgres returns bytes as `\x` and hexadecimal digits. */
export const postgresPreview: PreviewDialect = {
  selected({ dbName, kind }, length) {
    const name = identifier(dbName);
    return kind === "bytes"
      ? sql`substr(${name}, 1, ${length + 1}::int4)`
      : sql`left(${name}::text, ${length + 1}::int4)`;
  },
  cut(cell, { kind }, length) {
    if (typeof cell !== "string") return null;
    if (kind !== "bytes") return firstCodePoints(cell, length);
    const end = 2 + 2 * length;
    return cell.length > end ? cell.slice(0, end) : null;
  },
};
