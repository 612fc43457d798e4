import { assert, assertEquals, assertMatch } from "@std/assert";
import { runChild } from "../serve/child_process.ts";
import { createScratchDatabase } from "../support/engines.ts";
import { npmUnreachable } from "../support/npm_registry.ts";
import { testPostgres, testUnless } from "../support/skip.ts";
import { scratchFolder } from "../support/scratch.ts";
import { root } from "./module_graph.ts";

const readme = Deno.readTextFileSync(`${root}README.md`);
/** For a program of the front page's exports, and for one that imports drivers. */
const configuration = configurationIn(readme);
const withDrivers = configurationIn(Deno.readTextFileSync(`${root}docs/hosts.md`));
const [, example = ""] = /^## Use it in your code\n+```ts\n(.*?)^```$/ms.exec(readme) ?? [];
const rootConfiguration = Deno.readTextFileSync(`${root}deno.json`);
const postgres = testPostgres();

/** Answers one request with the rows of a table, over the driver of the first line. */
function program(openDatabaseLines: string, options = ""): string {
  return `
    import { createApp, integer, openDatabase, resource, table } from "@svc/resource-api";
    ${openDatabaseLines}
    const things = table("leftovers", { id: integer().primaryKey() });
    await db.createTables([things]);
    const resources = [resource(things, { id: things.id, auth: { public: true } })];
    const app = await createApp({ db, resources, secret: "sixteen or more characters"${options} });
    const answer = await app.fetch(new Request("http://localhost/api/leftovers"));
    console.log(answer.status, (await answer.json()).items);
    await app.close();
  `;
}

const byUrl = program(`const db = await openDatabase("sqlite::memory:");`);
const byDriver = program(
  `
  import { openNodeSqlite } from "@svc/resource-api/node-sqlite";
  const db = await openDatabase(await openNodeSqlite(":memory:"));
`,
  ", observability: { openTelemetry: true }",
);
const byPostgres = program(`
  import { openPostgres } from "@svc/resource-api/postgres";
  const db = await openDatabase(await openPostgres(Deno.args[0] ?? ""));
`);

/** The options of a user's deno.json under which the files of the package are checked, too. */
const strictest = {
  strict: true,
  exactOptionalPropertyTypes: true,
  noUncheckedIndexedAccess: true,
  noImplicitOverride: true,
  useUnknownInCatchVariables: true,
  noImplicitReturns: true,
  noFallthroughCasesInSwitch: true,
};

// Checked as one, as most of a check goes into the package. The options of the README as it shows them
// are those of `tests/types`, where the package is checked without Deno's unstable types, too.
Deno.test("deno test, which checks as deno check does, failed with the types of a browser; an example that is copied beside the README's deno.json lacked imports", async () => {
  const compilerOptions = {
    ...strictest,
    lib: ["deno.window", "deno.unstable", "dom", "dom.iterable", "dom.asynciterable"],
  };
  const names = Array.from(Deno.readDirSync(`${root}examples`), ({ name }) => name)
    .filter((name) => name.endsWith(".ts"));
  await using project = await readmeProject({
    "deno.json": JSON.stringify({ ...JSON.parse(configuration), compilerOptions }),
    "main.ts": example,
    "main_test.ts": `
      import "../resource-api/cli.ts";
      ${names.map((name) => `import type {} from "./${name}";`).join("\n")}
      Deno.test("it starts", async () => void (await import("./main.ts")));`,
  });
  for (const name of names) {
    await Deno.copyFile(`${root}examples/${name}`, `${project.path}/${name}`);
  }
  const printed = await deno(project.path, ["test", "-A"]);
  assertMatch(printed, /^201 \{ id: 1, title: "Buy tea", status: "draft" \}$/m);
  assertMatch(printed, /1 passed/);
});

Deno.test("a bundled program did not find the drivers", async () => {
  const urls = { "url.ts": byUrl, "driver.ts": byDriver };
  await using project = await readmeProject({ "deno.json": withDrivers, ...urls });
  await using elsewhere = await scratchFolder();
  const imports = {
    "@opentelemetry/api": JSON.parse(rootConfiguration).imports["@opentelemetry/api"],
  };
  await Deno.writeTextFile(`${elsewhere.path}/deno.json`, JSON.stringify({ imports }));
  await Deno.copyFile(`${root}deno.lock`, `${elsewhere.path}/deno.lock`);
  for (const name of ["url", "driver"]) {
    const bundle = `${elsewhere.path}/${name}.js`;
    await deno(project.path, ["bundle", "-q", `${name}.ts`, "-o", bundle]);
    const { stdout, stderr } = await runChild([bundle], { cwd: elsewhere.path });
    assertEquals(stdout, "200 []\n", stderr);
  }
});

testUnless(
  "missing" in postgres ? postgres.missing : null,
  "a bundled program did not find the driver of Postgres",
  async () => {
    if ("missing" in postgres) return;
    const { url, drop } = await createScratchDatabase(postgres.url);
    await using _database = { [Symbol.asyncDispose]: drop };
    const unmentioned = program(`const db = await openDatabase(Deno.args[0] ?? "");`);
    await using project = await readmeProject({
      "deno.json": withDrivers,
      "driver.ts": byPostgres,
      "url.ts": unmentioned,
    });
    await using elsewhere = await scratchFolder();
    const bundle = async (name: string) => {
      await deno(project.path, [
        "bundle",
        "-q",
        `${name}.ts`,
        "-o",
        `${elsewhere.path}/${name}.js`,
      ]);
      return await runChild([`${elsewhere.path}/${name}.js`, url], { cwd: elsewhere.path });
    };
    const { stdout, stderr } = await bundle("driver");
    assertEquals(stdout, "200 []\n", stderr);
    // A URL alone names the driver at run time only; the message says what to write.
    assert((await bundle("url")).stderr.includes("pass await openPostgres(…) in place of the URL"));
  },
);

const registry = await npmUnreachable();

testUnless(
  registry,
  "a program finds the drivers that it imports offline, and with a frozen lock",
  async () => {
    await using project = await readmeProject({
      "deno.json": withDrivers,
      "main.ts": byPostgres,
      "sqlite.ts": byDriver,
    });
    await using cache = await scratchFolder();
    const env = { DENO_DIR: cache.path };
    await deno(project.path, ["cache", "main.ts", "sqlite.ts"], env);
    const args = ["--cached-only", "--frozen", "sqlite.ts"];
    const { stdout, stderr } = await runChild(args, { cwd: project.path, env });
    assertEquals(stdout, "200 []\n", stderr);
    // Nothing listens there: the driver was found, and the database was not.
    const unreachable = ["--cached-only", "--frozen", "main.ts", "postgres://127.0.0.1:1/none"];
    const refused = await runChild(unreachable, { cwd: project.path, env });
    assertMatch(refused.stderr, /The database answered: unavailable/);
  },
);

/** The first `deno.json` in a document. */
function configurationIn(text: string): string {
  return /^```json\n(.*?)^```$/ms.exec(text)?.[1] ?? "";
}

/** A folder beside this package with the project of a user, as the README describes it. */
async function readmeProject(
  files: Readonly<Record<string, string>>,
): Promise<AsyncDisposable & { readonly path: string }> {
  const folder = await scratchFolder();
  await Deno.symlink(root, `${folder.path}/resource-api`);
  const path = `${folder.path}/project`;
  await Deno.mkdir(path);
  // The versions that are there already: a test asks no registry for newer ones.
  await Deno.copyFile(`${root}deno.lock`, `${path}/deno.lock`);
  for (const [name, text] of Object.entries(files)) {
    await Deno.writeTextFile(`${path}/${name}`, text);
  }
  return { path, [Symbol.asyncDispose]: () => folder[Symbol.asyncDispose]() };
}

/** Runs a command of Deno that has to succeed, and gives all that it printed. */
async function deno(
  cwd: string,
  args: readonly string[],
  env: Record<string, string> = {},
): Promise<string> {
  const command = new Deno.Command(Deno.execPath(), {
    args: [...args],
    cwd,
    env: { NO_COLOR: "1", ...env },
  });
  const { success, stdout, stderr } = await command.output();
  const printed = new TextDecoder().decode(stdout) + new TextDecoder().decode(stderr);
  assert(success, `deno ${args.join(" ")}: ${printed}`);
  return printed;
}
