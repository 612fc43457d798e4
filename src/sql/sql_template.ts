import { type Fragment, sql, type SqlValue } from "./fragment.ts";

/** Remembers which strings were checked, because most fragments are created repeatedly. */
class ReadTexts {
  readonly #known = new WeakSet<readonly string[]>();

  requireApart({ texts, values, isKept }: Fragment): void {
    if (isKept && this.#known.has(texts)) return;
    requireTokens(texts, values.length);
    if (isKept) this.#known.add(texts);
  }
}

const read = new ReadTexts();

/**
 * The template tag for fragments of SQL. A fragment in the template becomes a part of the SQL. Any
 * other value is bound. It must be a value that the driver accepts. Custom operators consist of
 * fragments. For a whole statement use `db.sql`, which also accepts tables, columns and filters.
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
  read.requireApart(fragment);
  return fragment;
}

/** Returns true if a value between the strings would touch a word, a number or a quoted name. */
export function touchesToken(before: string, after: string): boolean {
  return /[\p{L}\p{N}_$"'`]$/u.test(before) || /^[\p{L}\p{N}_$"'`]/u.test(after);
}

/** Represents a value in the SQL that is checked. SQL itself never contains this character. */
const mark = "\0";

/** One alternative matches at every position. The quotes are those of all engines together. */
const pattern = new RegExp(
  [
    // Only Postgres supports nested comments. SQLite ends a comment at the first end mark.
    String.raw`(?<comment>--[^\n]*\n|/\*(?:[^*/]|\*(?!/)|/(?!\*))*\*/)`,
    String.raw`(?<text>[eE]'(?:[^'\\]|\\[^]|'')*'|'(?:[^']|'')*')`,
    '(?<name>"(?:[^"]|"")*"|`(?:[^`]|``)*`)',
    String.raw`(?<word>[\p{L}\p{N}_][\p{L}\p{N}_$]*)`,
    String.raw`(?<dollars>\$(?<tag>[\p{L}_][\p{L}\p{N}_]*)?\$[^]*?\$\k<tag>\$)`,
    String.raw`(?<placeholder>[?$]\d+)`,
    "(?<open>--|/\\*|['\"`]|\\$(?:[\\p{L}_][\\p{L}\\p{N}_]*)?\\$)",
    `(?<value>${mark})`,
    "[^]",
  ].join("|"),
  "guy",
);

function requireTokens(texts: readonly string[], count: number): void {
  let value = 0;
  for (const { 0: found, index, groups = {} } of texts.join(mark).matchAll(pattern)) {
    const { comment, text, name, placeholder, open } = groups;
    if (placeholder !== undefined || open !== undefined) throw refusal(found, texts, index);
    if (groups.value !== undefined) {
      const [before = "", after = ""] = [texts[value], texts[value + 1]];
      value++;
      const isBeside = before === "" && value > 1 || after === "" && value < count;
      if (
        isBeside || touchesToken(before, after) || before.endsWith(".") || after.startsWith(".")
      ) {
        throw misplaced(value, "touches other text", `${before.slice(-20)}${mark}${after}`);
      }
    } else if (found.includes(mark)) {
      const where = comment !== undefined
        ? "a comment"
        : text !== undefined
        ? "a string"
        : name !== undefined
        ? "a quoted name"
        : "a string between $$";
      throw misplaced(value + 1, `is inside ${where}`, found);
    }
  }
}

function misplaced(value: number, why: string, place: string): Error {
  return new Error(`Cannot read the SQL: value ${value} ${why}: ${shown(place)}`);
}

function refusal(found: string, texts: readonly string[], index: number): Error {
  const why = /\d/.test(found)
    ? "looks like a placeholder: interpolate the value"
    : "is not closed, and nothing is interpolated in a string, a quoted name or a comment";
  const place = texts.join(mark).slice(Math.max(0, index - 20), index + found.length + 20);
  return new Error(`Cannot read the SQL: ${found} ${why}: ${shown(place)}`);
}

function shown(place: string): string {
  const text = place.replaceAll(mark, "${…}");
  return text.length <= 60 ? text : `${text.slice(0, 60)}…`;
}
