import { type Fragment, sql, type SqlValue } from "./fragment.ts";

/**
 * The template tag for fragments of SQL. A fragment in the template becomes a part of the SQL. Any
 * other value is bound. It must be a value that the driver accepts. Use fragments for custom
 * operators. For a whole statement use `db.sql`, which also accepts tables, columns and filters.
 *
 * @throws {Error} If a value is inside quotes or a comment, or next to a word, a number or another
 * value: `$1` followed by `1` would be `$11`.
 *
 * @example
 * ```ts
 * import { sql } from "@svc/resource-api/sql";
 *
 * const near = sql`abs(${10} - ${7}) < ${5}`;
 * console.log(near.texts.length, near.values); // 4 [ 10, 7, 5 ]
 * ```
 */
export function sqlTemplate(
  strings: readonly string[],
  ...parts: readonly (Fragment | SqlValue)[]
): Fragment {
  const fragment = sql(strings, ...parts);
  const { texts, values } = fragment;
  texts.forEach((before, index) => {
    const after = texts[index + 1] ?? "";
    const place = `${before.slice(-20)}\${…}${after.slice(0, 20)}`;
    const open = opening.test(texts.slice(0, index + 1).join("\0").replace(closed, ""));
    if (open) throw misplaced(index, `is inside quotes or a comment: ${place}`);
    if (index === values.length) return;
    const isBeside = before === "" && index > 0 || after === "" && index + 1 < values.length;
    const isPart = before.endsWith(".") || after.startsWith(".");
    if (!isBeside && !isPart && !touchesToken(before, after)) return;
    throw misplaced(index, `touches other text: ${place}`);
  });
  return fragment;
}

/** Matches closed strings, names and comments in the syntax of all engines together. */
const closed =
  /[eE]'(?:[^'\\]|\\[^]|'')*'|'(?:[^']|'')*'|"(?:[^"]|"")*"|`[^`]*`|\$(\w*)\$[^]*?\$\1\$|--[^\n]*\n|\/\*[^]*?\*\//g;
const opening = /['"`]|--|\/\*|\$\w*\$/;

function misplaced(index: number, why: string): Error {
  return new Error(`Cannot read the SQL: value ${index + 1} ${why}`);
}

/** Returns true if a value between the strings would touch a word, a number or a quoted name. */
export function touchesToken(before: string, after: string): boolean {
  return /[\p{L}\p{N}_$"'`]$/u.test(before) || /^[\p{L}\p{N}_$"'`]/u.test(after);
}
