import { assertEquals } from "@std/assert";
import plugin from "../../dev/lint/plugin.ts";

function check(path: string, source: string, expected: readonly string[]): void {
  const found = Deno.lint.runPlugin(plugin, path, source);
  assertEquals(found.map((diagnostic) => diagnostic.id), expected.map((rule) => `project/${rule}`));
}

Deno.test("no-ambient finds time, chance, timers, console and environment", () => {
  const sources = [
    "Date.now();",
    'Date["now"]();',
    "new Date();",
    "Date();",
    "Math.random();",
    "performance.now();",
    "crypto.randomUUID();",
    "crypto.getRandomValues(bytes);",
    'import { randomBytes } from "node:crypto";',
    "setTimeout(work, 5);",
    "globalThis.setInterval(work, 5);",
    "setImmediate(work);",
    'console.log("x");',
    'Deno.env.get("X");',
    "process.env.X;",
  ];
  for (const source of sources) check("src/guard/budget.ts", source, ["no-ambient"]);
});

Deno.test("no-ambient leaves alone what is given, and what is not ambient", () => {
  check("src/guard/budget.ts", "new Date(0); Date.UTC(2024); queueMicrotask(work);", []);
  check("src/guard/budget.ts", 'import { createHmac } from "node:crypto";', []);
  for (
    const path of ["src/runtime/system_runtime.ts", "src/app/serve.ts", "tests/x.ts", "cli.ts"]
  ) {
    check(path, "Date.now(); console.log(Deno.env);", []);
  }
});

Deno.test("no-ambient lets the command line print and read the environment, nothing else", () => {
  check("src/cli/init.ts", 'console.log(Deno.env.get("X"));', []);
  check("src/cli/init.ts", "Date.now();", ["no-ambient"]);
});

Deno.test("no-ambient finds chance and time that a file takes from systemRuntime by itself", () => {
  const file = "../runtime/system_runtime.ts";
  const sources = [
    `import { systemRuntime } from "${file}";`,
    `import { systemRuntime as world } from "${file}";`,
    `import { systemClock } from "${file}";`,
    `import * as world from "${file}";`,
    `export { systemRuntime } from "${file}";`,
    `export * from "${file}";`,
    `const { systemRuntime } = await import("${file}");`,
  ];
  for (const source of sources) check("src/db/transact.ts", source, ["no-ambient"]);
  check("mod.ts", 'export { systemRuntime } from "./src/runtime/system_runtime.ts";', [
    "no-ambient",
  ]);
});

Deno.test("no-ambient lets the ways into the package take the system's Runtime, and drivers its clock", () => {
  const runtime = 'import { systemRuntime } from "./runtime/system_runtime.ts";';
  for (
    const path of [
      "src/app/app.ts",
      "src/app/serve.ts",
      "src/app/track_mutations.ts",
      "src/cli/init.ts",
    ]
  ) {
    check(path, runtime, []);
  }
  const clock = 'import { systemClock } from "../../runtime/system_runtime.ts";';
  check("src/engines/postgres/driver/postgres_driver.ts", clock, []);
  check("src/engines/sqlite/driver/sqlite_driver.ts", clock, []);
  check("src/engines/sqlite/driver/sqlite_driver.ts", runtime, ["no-ambient"]);
});

Deno.test("engine-blind finds the engines' names outside the folders that may know them", () => {
  const sources = [
    'if (dialect.engine === "sqlite") run();',
    "if ('postgres' != engine) run();",
    "run(engine === 'sqlite' ? 1 : 2);",
    "switch (engine) { case `postgres`: run(); }",
    'if (["sqlite"].includes(engine)) run();',
    'if (systemName === "postgresql") run();',
    "run({ sqlite: 1 }[engine]);",
    "if (isPostgres) run();",
    'type Engine = "postgres";',
  ];
  const folders = ["app", "cli", "compile", "db", "plan", "resource", "search", "service", "sql"];
  for (const source of sources) {
    for (const folder of folders) check(`src/${folder}/x.ts`, source, ["engine-blind"]);
    for (const path of ["src/engines/x.ts", "src/schema/drizzle/x.ts"]) check(path, source, []);
  }
  check("src/plan/plan.ts", 'const text = "sqlite and postgres"; run(engine.name);', []);
});

Deno.test("no-empty-catch finds a catch without a statement, commented or not", () => {
  check("src/db/x.ts", "try { run(); } catch { /* fine */ }", ["no-empty-catch"]);
  check("src/db/x.ts", "try { run(); } catch (error) { observe(error); }", []);
});

Deno.test("no-module-state finds variables and empty collections of a module", () => {
  check("src/live/x.ts", "let count = 0;", ["no-module-state"]);
  check("src/live/x.ts", "export let count = 0;", ["no-module-state"]);
  check("src/live/x.ts", "const groups = new Map();", ["no-module-state"]);
  check("src/live/x.ts", "const seen: Map<string, number> = new Map();", ["no-module-state"]);
  check("src/live/x.ts", "const none: ReadonlyMap<string, string> = new Map();", []);
  check("src/live/x.ts", 'const names = new Set(["a"]); function f() { let i = 0; return i; }', []);
});

Deno.test("complete-kinds finds lists that lack a new kind of columns without a word", () => {
  const several = ["complete-kinds"];
  check("src/live/x.ts", 'const a = kind === "real" || kind === "date";', several);
  check("src/live/x.ts", 'const a = b && kind !== "real" && column.kind !== "date";', several);
  check("src/live/x.ts", 'const a = new Set(["json", "bytes", "date"]);', several);
  check("src/live/x.ts", 'const a = ["uuid", "date"].includes(kind);', several);
  check("src/live/x.ts", 'switch (kind) { case "uuid": case "date": f(); default: g(); }', several);
  check("src/live/x.ts", 'switch (kind) { case "uuid": case "date": f(); }', []);
  check("src/live/x.ts", 'const a = kind === "timestamp" && other.kind !== "real";', []);
  check(
    "src/live/x.ts",
    'switch (typeof a) { case "bigint": case "boolean": f(); default: g(); }',
    [],
  );
});

Deno.test("few-parameters finds the fifth parameter of an exported function", () => {
  check("src/live/x.ts", "export function f(a, b, c, d, e) {}", ["few-parameters"]);
  check("src/live/x.ts", "export function f(a, b, c, d) {} function g(a, b, c, d, e) {}", []);
});

Deno.test("reasoned-as wants a comment above the line or above the statement", () => {
  check("src/live/x.ts", "const a = b as Row;", ["reasoned-as"]);
  check("src/live/x.ts", "const a = b as unknown;\nconst c = <Row> b;", [
    "reasoned-as",
    "reasoned-as",
  ]);
  check("src/live/x.ts", "const a = b as unknown as Row;", ["reasoned-as"]);
  check("src/live/x.ts", "// The statement selects one column.\nconst a = b as Row;", []);
  check("src/live/x.ts", "// Two columns.\nconst a = b as Row;\nconst c = d as Row;", []);
  check("src/live/x.ts", "// One call.\nrun(\n  a,\n  b as Row,\n);", []);
  check("src/live/x.ts", "run(\n  a,\n  // Why.\n  b as Row,\n);", []);
  check("src/live/x.ts", 'import { a as b } from "./a.ts"; const c = [1] as const;', []);
});
