import { assert, assertEquals } from "@std/assert";
import { postgresSyntax } from "../../../src/engines/postgres/sql/syntax.ts";
import { sqliteSyntax } from "../../../src/engines/sqlite/sql/syntax.ts";
import { ddlTokens, normalizeSql } from "../../../src/sql/statements/normal_sql.ts";

const syntaxes = { sqlite: sqliteSyntax, postgres: postgresSyntax };

const same: readonly (readonly ["sqlite" | "postgres", string, string])[] = [
  ["sqlite", '"Size" > 0', "((size>0))"],
  ["sqlite", "[a] = 'It''s (X)' -- why", "A='It''s (X)'"],
  ["postgres", '"size" >= 1 AND "size" <= 9', "((size >= 1) AND (size <= 9))"],
  ["postgres", "a = 1 OR (b <> 'x')", "((a = 1) OR (b <> 'x'::text))"],
  ["postgres", "'x'", "'x'::character varying(20)"],
  ["postgres", "'2026-01-01'", "'2026-01-01'::timestamp(6) with time zone"],
  ["postgres", "'{}' = a AND b", "'{}'::text[] = a AND b"],
];

const different: readonly (readonly ["sqlite" | "postgres", string, string])[] = [
  ["sqlite", "'a'", "'A'"],
  ["sqlite", "a AND (b OR c)", "a AND b OR c"],
  ["sqlite", "(a) + (b)", "a) + (b"],
  ["postgres", "(a = 1 AND b = 2) = c", "a = 1 AND b = 2 = c"],
  ["postgres", "NOT (a = 1)", "NOT a = 2"],
  ["postgres", "(a = 1) = b", "a = (1 = b)"],
  ["postgres", "a::text AND varying", "a AND precision"],
];

Deno.test("a bracket that is not closed is one token, so that none is searched for twice", () => {
  assertEquals(ddlTokens("a [b c"), ["a", " ", "[b c"]);
});

Deno.test("expressions that differ in their form alone have the same form", () => {
  for (const [engine, left, right] of same) {
    assertEquals(normalizeSql(left, syntaxes[engine]), normalizeSql(right, syntaxes[engine]));
  }
});

Deno.test("expressions that mean something else have another form", () => {
  for (const [engine, left, right] of different) {
    assert(
      normalizeSql(left, syntaxes[engine]) !== normalizeSql(right, syntaxes[engine]),
      `${left} and ${right}`,
    );
  }
});
