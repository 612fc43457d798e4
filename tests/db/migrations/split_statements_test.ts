import { assertEquals, assertThrows } from "@std/assert";
import { postgresSyntax } from "../../../src/engines/postgres/sql/syntax.ts";
import { sqliteSyntax } from "../../../src/engines/sqlite/sql/syntax.ts";
import {
  isTransactionBoundary,
  splitStatements,
} from "../../../src/sql/statements/split_statements.ts";

const syntaxes = { sqlite: sqliteSyntax, postgres: postgresSyntax };

const cases: readonly (readonly ["sqlite" | "postgres", string, readonly string[]])[] = [
  ["sqlite", "", []],
  ["sqlite", " ;; -- nothing;\n/* ; */ ;", []],
  ["sqlite", "SELECT 1; SELECT 2", ["SELECT 1", "SELECT 2"]],
  ["sqlite", "SELECT ';', \";\", `;`, [;]; SELECT 'it''s;'", [
    "SELECT ';', \";\", `;`, [;]",
    "SELECT 'it''s;'",
  ]],
  ["sqlite", "SELECT 1 -- a; b\n; SELECT 2 /* ; */ + 1;", [
    "SELECT 1 -- a; b",
    "SELECT 2 /* ; */ + 1",
  ]],
  [
    "sqlite",
    `CREATE TRIGGER t AFTER INSERT ON a WHEN CASE NEW.b WHEN 1 THEN 1 END BEGIN
       UPDATE a SET b = CASE WHEN b > 1 THEN ';' ELSE 2 END; DELETE FROM "end";
     END; SELECT 1`,
    [
      `CREATE TRIGGER t AFTER INSERT ON a WHEN CASE NEW.b WHEN 1 THEN 1 END BEGIN
       UPDATE a SET b = CASE WHEN b > 1 THEN ';' ELSE 2 END; DELETE FROM "end";
     END`,
      "SELECT 1",
    ],
  ],
  [
    "sqlite",
    "CREATE TRIGGER end AFTER UPDATE OF end ON a BEGIN UPDATE a SET end = CASE WHEN 1 THEN 2 END; " +
    "DELETE FROM b WHERE end > 1; END; SELECT 1; SELECT 2",
    [
      "CREATE TRIGGER end AFTER UPDATE OF end ON a BEGIN UPDATE a SET end = CASE WHEN 1 THEN 2 END; " +
      "DELETE FROM b WHERE end > 1; END",
      "SELECT 1",
      "SELECT 2",
    ],
  ],
  ["sqlite", "create temp trigger if not exists t after delete on a begin select 1; end;", [
    "create temp trigger if not exists t after delete on a begin select 1; end",
  ]],
  ["sqlite", "CREATE TABLE trigger_begin (begin_at int); SELECT 1", [
    "CREATE TABLE trigger_begin (begin_at int)",
    "SELECT 1",
  ]],
  ["postgres", "SELECT '{1}'::int[]; SELECT a[1]", ["SELECT '{1}'::int[]", "SELECT a[1]"]],
  ["postgres", "SELECT E'it\\'s;'; SELECT 'a\\'; SELECT 2", [
    "SELECT E'it\\'s;'",
    "SELECT 'a\\'",
    "SELECT 2",
  ]],
  ["postgres", "SELECT 1 /* a /* ; */ ; */; SELECT 2", ["SELECT 1 /* a /* ; */ ; */", "SELECT 2"]],
  ["postgres", "DO $$ BEGIN PERFORM 1; END $$; DO $a1$ $$; $b$ ; $a1$; SELECT $1", [
    "DO $$ BEGIN PERFORM 1; END $$",
    "DO $a1$ $$; $b$ ; $a1$",
    "SELECT $1",
  ]],
  [
    "postgres",
    `CREATE OR REPLACE FUNCTION f() RETURNS int LANGUAGE sql
     BEGIN ATOMIC SELECT CASE WHEN true THEN 1 END; SELECT 2; END; SELECT 3`,
    [
      `CREATE OR REPLACE FUNCTION f() RETURNS int LANGUAGE sql
     BEGIN ATOMIC SELECT CASE WHEN true THEN 1 END; SELECT 2; END`,
      "SELECT 3",
    ],
  ],
  ["postgres", "CREATE TRIGGER t AFTER INSERT ON a EXECUTE FUNCTION f(); SELECT 1", [
    "CREATE TRIGGER t AFTER INSERT ON a EXECUTE FUNCTION f()",
    "SELECT 1",
  ]],
];

Deno.test("a script is split where its statements end, and nowhere else", () => {
  for (const [engine, script, statements] of cases) {
    assertEquals(splitStatements(script, syntaxes[engine]), statements, script);
  }
});

Deno.test("what is not closed in a script is an error with its line", () => {
  const open: readonly (readonly ["sqlite" | "postgres", string])[] = [
    ["sqlite", "SELECT 1;\nSELECT 'a; SELECT 2;"],
    ["sqlite", "SELECT 1;\nSELECT /* 2;"],
    ["sqlite", 'SELECT 1;\nSELECT "a;'],
    ["postgres", "SELECT 1;\nDO $a$ $b$;"],
    ["postgres", "SELECT 1;\n/* /* */;"],
    ["postgres", "SELECT 1;\nSELECT E'a\\';"],
  ];
  for (const [engine, script] of open) {
    assertThrows(() => splitStatements(script, syntaxes[engine]), Error, "line 2", script);
  }
  assertThrows(
    () => splitStatements("CREATE TRIGGER t AFTER INSERT ON a BEGIN SELECT 1;", sqliteSyntax),
    Error,
    "the statement CREATE TRIGGER T has no END",
  );
});

Deno.test("statements that begin or end a transaction are known in any form", () => {
  const boundaries = ["BEGIN", "commit", "-- a\n/* b */ END", "START  TRANSACTION", "ROLLBACK"];
  const others = ["BEGINNING", "ROLLBACK TO a", "SAVEPOINT a", "SELECT 'BEGIN'"];
  assertEquals(boundaries.filter(isTransactionBoundary), boundaries);
  assertEquals(others.filter(isTransactionBoundary), []);
});
