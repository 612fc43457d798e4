import { assertEquals, assertMatch, assertStringIncludes } from "@std/assert";
import { parseArguments } from "../../src/cli/arguments.ts";
import { runChild, startChild } from "../serve/child_process.ts";
import { scratchFolder } from "../support/scratch.ts";

const cli = new URL("../../cli.ts", import.meta.url).pathname;
const mod = new URL("../../mod.ts", import.meta.url).href;

Deno.test("the arguments of types name a configuration or a URL", () => {
  const nothing = {
    ...{ kind: "describe", form: "types", url: null, config: null, token: null, check: null },
    yaml: false,
  } as const;
  const cases: readonly [args: string, expected: unknown][] = [
    ["types", nothing],
    ["types other.ts", { ...nothing, config: "other.ts" }],
    ["types -c other.ts --check api.d.ts", { ...nothing, config: "other.ts", check: "api.d.ts" }],
    ["types http://a.b/v1 --token t", { ...nothing, url: "http://a.b/v1", token: "t" }],
    ["types --help", { kind: "help", command: "types" }],
    ["openapi a.ts --yaml", { ...nothing, form: "openapi", config: "a.ts", yaml: true }],
  ];
  for (const [args, expected] of cases) assertEquals(parseArguments(args.split(" ")), expected);
  for (
    const [args, message] of [
      ["types shop.db", /start the service of a database, and give its URL/],
      ["types a.ts b.ts", /one file or URL/],
      ["types a.ts --config b.ts", /not both/],
      ["types a.ts --token x", /--token with a URL only/],
      ["types --chekc x", /did you mean --check/],
      ["types --yaml", /no option --yaml/],
      ["types --check", /The option --check needs a value/],
      ["types http://", /is no URL/],
    ] as const
  ) {
    const command = parseArguments(args.split(" "));
    assertEquals(command.kind, "misused", args);
    assertMatch("message" in command ? command.message : "", message);
  }
});

Deno.test("types writes the declarations of a service, and says when a file is stale", async () => {
  await using folder = await scratchFolder();
  const at = { cwd: folder.path };
  await using child = startChild([cli, "--port", "0"], at);
  const [, url = ""] = await child.printed(/(http:\/\/[^/]+)\/healthz/);
  const written = await runChild([cli, "types", url], at);
  assertEquals(written.code, 0, written.stderr);
  assertStringIncludes(written.stdout, "export interface BooksCreate {");
  await Deno.writeTextFile(`${folder.path}/api.d.ts`, written.stdout);
  const check = ["types", url, "--check", "api.d.ts"];
  assertEquals((await runChild([cli, ...check], at)).code, 0);

  await Deno.writeTextFile(`${folder.path}/api.d.ts`, `${written.stdout}\n`);
  const document = await runChild([cli, "openapi", url], at);
  assertEquals(JSON.parse(document.stdout).openapi, "3.0.3");
  await Deno.writeTextFile(`${folder.path}/api.json`, document.stdout);
  assertEquals((await runChild([cli, "openapi", url, "--check", "api.json"], at)).code, 0);
  assertEquals((await runChild([cli, "openapi", url, "--check", "api.d.ts"], at)).code, 1);

  const stale = await runChild([cli, ...check], at);
  assertEquals([stale.code, stale.stdout], [1, ""]);
  assertMatch(stale.stderr, /^api\.d\.ts is stale: it differs/);
  await Deno.remove(`${folder.path}/api.d.ts`);
  assertEquals((await runChild([cli, ...check], at)).code, 1);
});

Deno.test("types reads a configuration whose routes refuse anonymous callers", async () => {
  await using folder = await scratchFolder();
  const at = { cwd: folder.path };
  const without = await runChild([cli, "types"], at);
  assertEquals(without.code, 2);
  assertMatch(without.stderr, /no service\.config\.ts here/);
  await Deno.writeTextFile(
    `${folder.path}/service.config.ts`,
    `import { integer, openDatabase, Problem, resource, table } from "${mod}";
     const things = table("things", { id: integer().primaryKey(), size: integer() });
     const db = await openDatabase("sqlite::memory:");
     await db.createTables([things]);
     export default {
       db,
       openapi: false,
       auth: { middleware: () => { throw new Problem("unauthorized", "no"); } },
       resources: [resource(things, { id: things.id, auth: { public: true } })],
     };`,
  );
  const { code, stdout, stderr } = await runChild([cli, "types"], at);
  assertEquals(code, 0, stderr);
  assertStringIncludes(
    stdout,
    "export interface Things {\n  id: number;\n  size: number | null;\n}",
  );
  assertEquals((await runChild([cli, "types", "http://127.0.0.1:1"], at)).code, 1);
});
