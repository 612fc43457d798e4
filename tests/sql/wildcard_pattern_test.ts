import { assert, assertEquals } from "@std/assert";
import fc from "fast-check";
import { sql, toStatement } from "../../src/sql/fragment.ts";
import { matchesWildcards } from "../../src/sql/wildcard_pattern.ts";
import { testOnEngines } from "../support/http.ts";

// A failure is found again by `SEED=… deno task test tests/sql/wildcard_pattern_test.ts`.
const seed = Number(Deno.env.get("SEED") ?? crypto.getRandomValues(new Uint32Array(1))[0]! >>> 1);

/** Every pattern that a backtracking match of characters accepts; slow for many `%`. */
function matchesByBacktracking(text: readonly string[], pattern: readonly string[]): boolean {
  const [first, ...rest] = pattern;
  if (first === undefined) return text.length === 0;
  if (first === "%") {
    return text.some((_, at) => matchesByBacktracking(text.slice(at), rest)) ||
      matchesByBacktracking([], rest);
  }
  const [is, ...others] = text;
  if (is === undefined) return false;
  if (first === "_") return matchesByBacktracking(others, rest);
  const [literal, after] = first === "\\" ? [rest[0], rest.slice(1)] : [first, rest];
  return is === literal && matchesByBacktracking(others, after);
}

const letters = fc.constantFrom("a", "b", "é", "👍", "*", "?", "[");
const texts = fc.array(letters, { maxLength: 60 });
/** Few characters, so that much matches; long parts, which SQLite matches by a function. */
const patterns = fc.array(
  fc.oneof(
    { weight: 6, arbitrary: letters.map((letter) => [letter]) },
    { weight: 3, arbitrary: fc.constant(["_"]) },
    { weight: 1, arbitrary: fc.constant(["%"]) },
    { weight: 1, arbitrary: fc.constantFrom("%", "_", "\\").map((one) => ["\\", one]) },
  ),
  { maxLength: 45 },
).map((parts) => parts.flat());
/** Patterns that are made from their text, so that half of them match it. */
const pairs = fc.oneof(
  fc.record({ text: texts, pattern: patterns }),
  fc.record({
    text: texts,
    kept: fc.infiniteStream(fc.integer({ min: 0, max: 9 })),
  }).map(({ text, kept }) => ({
    text,
    pattern: text.flatMap((letter): readonly string[] => {
      const { value } = kept.next();
      return value < 6 ? [letter] : value < 8 ? ["_"] : value === 8 ? ["%"] : ["%", "_"];
    }),
  })),
);

Deno.test(`patterns match as by backtracking, seed ${seed}`, () => {
  let matched = 0;
  for (const { text, pattern } of fc.sample(pairs, { seed, numRuns: 20_000 })) {
    const expected = matchesByBacktracking(text, pattern);
    if (expected) matched++;
    const [joined, printed] = [text.join(""), pattern.join("")];
    assertEquals(matchesWildcards(joined, printed), expected, `${joined} like ${printed}`);
  }
  assert(matched > 5_000, `${matched} matched`);
});

testOnEngines(`engines match patterns of long parts as memory, seed ${seed}`, async (engine) => {
  const db = await engine.open();
  try {
    for (const { text, pattern } of fc.sample(pairs, { seed, numRuns: 400 })) {
      const [joined, printed] = [text.join(""), pattern.join("")];
      const value = db.dialect.engine === "postgres" ? sql`${joined}::text` : sql`${joined}`;
      const condition = db.dialect.text.like(value, printed);
      const query = sql`SELECT CASE WHEN ${condition} THEN 1 ELSE 0 END`;
      const { rows } = await db.driver.query(toStatement(query, db.dialect.placeholder));
      assertEquals(Number(rows[0]?.[0]) === 1, matchesWildcards(joined, printed), printed);
    }
  } finally {
    await db.close();
  }
});

Deno.test("a pattern looks at each character of a long text a few times, however long it is", () => {
  const size = 100_000;
  for (const letter of ["a", "lorem ipsum ", "é👍"]) {
    const text = letter.repeat(size / letter.length);
    for (
      const pattern of [
        `%${"_".repeat(97)}Z%`,
        `%a${"_".repeat(96)}Z%`,
        `%${"a".repeat(96)}_b%`,
        `${"%a_".repeat(33)}Z%`,
        `%${"_".repeat(40)}Z%${"_".repeat(40)}Z%_`,
      ]
    ) {
      assert(charactersRead(() => matchesWildcards(text, pattern)) <= 3 * size, pattern);
    }
  }
});

/** How many characters of texts `work` reads one by one. */
function charactersRead(work: () => unknown): number {
  const { charCodeAt, codePointAt } = String.prototype;
  let count = 0;
  try {
    String.prototype.charCodeAt = function (at) {
      count++;
      return charCodeAt.call(this, at);
    };
    String.prototype.codePointAt = function (at) {
      count++;
      return codePointAt.call(this, at);
    };
    work();
  } finally {
    Object.assign(String.prototype, { charCodeAt, codePointAt });
  }
  return count;
}
