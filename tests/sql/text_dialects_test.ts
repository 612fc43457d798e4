import { assert, assertEquals, assertStringIncludes } from "@std/assert";
import { compileFilter } from "../../src/compile/where.ts";
import { eq } from "../../src/filter/builders.ts";
import type { Filter } from "../../src/filter/filter.ts";
import { integer, text } from "../../src/schema/column_builder.ts";
import { table } from "../../src/schema/table.ts";
import { tableInfoOf } from "../../src/schema/table_like.ts";
import { rawSql, sql, toStatement } from "../../src/sql/fragment.ts";
import { postgresText } from "../../src/engines/postgres/sql/text_operators.ts";
import { sqliteText } from "../../src/engines/sqlite/sql/text_operators.ts";
import { filterOf } from "../filter/support.ts";
import { engines, everyEngine } from "../support/engines.ts";
import { run } from "../support/scratch.ts";
import { testUnless } from "../support/skip.ts";

const notes = table("notes", { id: integer().primaryKey(), title: text().unique() });

// The driver of node:sqlite explains statements itself and cannot run another EXPLAIN; the
// SQLite library below is the same as in the other one.
for (const engine of everyEngine.filter(({ name }) => name !== "node:sqlite")) {
  testUnless(engine.ignore ?? null, `${engine.name} finds a prefix by an index`, async () => {
    const db = await engine.open();
    try {
      await db.createTables([notes]);
      // Postgres reads small tables as a whole unless sequential scans are off.
      const isServer = db.dialect.engine === "postgres";
      const explain = isServer ? "EXPLAIN" : "EXPLAIN QUERY PLAN";
      const planOf = async (filter: Filter) => {
        const query = sql`${rawSql(explain)} SELECT id FROM notes WHERE ${
          compileFilter(filter, db.dialect)
        }`;
        return await db.driver.transaction(async (connection) => {
          if (isServer) {
            await connection.query({ text: "SET LOCAL enable_seqscan = off", values: [] });
          }
          const { rows } = await connection.query(toStatement(query, db.dialect.placeholder));
          return rows.map((row) => row.join(" ")).join("\n");
        });
      };
      const info = tableInfoOf(notes);
      for (const filter of [filterOf('title=startswith="á"', info), eq(notes.title, "a")]) {
        assertStringIncludes(await planOf(filter), isServer ? "Index Cond" : "SEARCH");
      }
    } finally {
      await db.close();
    }
  });
}

Deno.test("an ASCII argument is folded by the engine itself", () => {
  const column = rawSql("v");
  const question = () => "?";
  assertEquals(toStatement(sqliteText.containsFolded(column, "5%"), question), {
    text: checked("instr(lower(v), ?) > 0"),
    values: ["5%"],
  });
  assertEquals(toStatement(postgresText.equalsFolded(column, "Ab"), question), {
    text: 'lower(v COLLATE "C") = ?',
    values: ["ab"],
  });
});

Deno.test("Postgres folds no more than the characters of the argument", () => {
  const fragment = postgresText.equalsFolded(rawSql("v"), "ΣÅb1");
  assertEquals(fragment.values, ["Σς\u00c5\u212b", "σσåå", "σåb1"]);
});

Deno.test("a pattern becomes a GLOB with everything but % and _ literal", () => {
  const values = (pattern: string) => sqliteText.like(rawSql("v"), pattern).values;
  assertEquals(values("a%b_c"), ["a*b?c"]);
  assertEquals(values("*?[]\\%\\_\\\\\\*"), ["[*][?][[]]%_\\[*]"]);
  assertEquals(values("\\\n\\👍"), ["\n👍"]);
});

Deno.test("a pattern that is a literal text is searched for as such", () => {
  const searched = (pattern: string) => {
    const { text, values } = toStatement(sqliteText.like(rawSql("v"), pattern), () => "?");
    return [text, ...values];
  };
  assertEquals(searched("%a\\%b%"), [checked("instr(v, ?) > 0"), "a%b"]);
  assertEquals(searched("a\\_*%"), ["(v >= ? AND v < ?)", "a_*", "a_+"]);
  assertEquals(searched("%👍"), [checked("substr(v, ?) = ?"), -1, "👍"]);
  assertEquals(searched("%"), [checked("instr(v, ?) > 0"), ""]);
  assertEquals(searched("%%"), [checked("instr(v, ?) > 0"), ""]);
  assertEquals(searched("a\\%"), [checked("v GLOB ?"), "a%"]);
  assertEquals(searched("%a%b%"), [checked("v GLOB ?"), "*a*b*"]);
  assertEquals(toStatement(sqliteText.likeFolded(rawSql("v"), "%É%"), () => "?"), {
    text: checked("instr(service_fold(v), ?) > 0"),
    values: ["é"],
  });
});

/** What takes longer for a longer text comes after a look at the time. */
function checked(condition: string): string {
  return `(abs(service_time_check(octet_length(v))) AND ${condition})`;
}

for (const engine of engines.filter(({ name }) => /sqlite/.test(name))) {
  Deno.test(`one read over a long text stopped the process for a minute (${engine.name})`, async () => {
    const db = await engine.open();
    try {
      await db.createTables([notes]);
      const info = tableInfoOf(notes);
      await run(db, "INSERT INTO notes VALUES (1, ?)", "a".repeat(1 << 20));
      const literal = `${"a".repeat(3000)}b`;
      const start = performance.now();
      for (
        const filter of [
          ...["contains", "startswith", "endswith", "icontains", "istartswith", "iendswith"]
            .map((operator) => `title=${operator}="${literal}"`),
          ...[`%${literal}%`, `${literal}%`, `%${literal}`, literal].flatMap((pattern) => [
            `title%="${pattern}"`,
            `title=ilike="${pattern}"`,
          ]),
          `title%="%${"a".repeat(96)}_b%"`,
          `title=ilike="%${"a".repeat(96)}_b%"`,
        ]
      ) {
        const test = compileFilter(filterOf(filter, info), db.dialect);
        const query = toStatement(sql`SELECT count(*) FROM notes WHERE ${test}`, () => "?");
        assertEquals((await db.driver.query(query)).rows, [[0]], filter.slice(0, 40));
      }
      assert(performance.now() - start < 10_000);
    } finally {
      await db.close();
    }
  });
}

Deno.test("SQLite tries no long pattern at each position of a text", () => {
  const textOf = (pattern: string) =>
    toStatement(sqliteText.like(rawSql("v"), pattern), () => "?").text;
  assertEquals(textOf("%a_b%"), checked("v GLOB ?"));
  for (const pattern of [`%${"a".repeat(96)}_b%`, `%a${"_".repeat(40)}%b%`]) {
    assertEquals(textOf(pattern), checked("service_like(CAST(v AS TEXT), ?)"));
  }
});

Deno.test("values are never in the text of a statement", () => {
  const hostile = "'; DROP TABLE notes; --";
  for (const dialect of [sqliteText, postgresText]) {
    const { text: sqlText } = toStatement(dialect.contains(rawSql("v"), hostile), () => "?");
    assertEquals(sqlText.includes("DROP"), false);
  }
});
