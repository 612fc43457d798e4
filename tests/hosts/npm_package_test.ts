import { assert, assertEquals, assertMatch } from "@std/assert";
import { faultsOf } from "../../dev/release.ts";
import { runChild, startProgram } from "../serve/child_process.ts";
import { scratchFolder } from "../support/scratch.ts";
import { testUnless } from "../support/skip.ts";
import { npmFolder } from "./npm_folder.ts";
import { checkService, createShop } from "./npm_service.ts";
import { checkPackedNames, followTeamGuide } from "./npm_team.ts";

const root = new URL("../../", import.meta.url).pathname;

/** All tests of this file share it, because npm unpacks Deno, which has 95 MB. */
const folder = await npmFolder();
const missing = typeof folder === "string" ? folder : null;
const cwd = typeof folder === "string" ? "" : folder.path;
Deno.test.afterAll(async () => {
  if (typeof folder !== "string") await folder[Symbol.asyncDispose]();
});

testUnless(missing, "npx resource-api serves, streams, and stops with its launcher", async () => {
  createShop(cwd);
  await checkService(cwd);
});

testUnless(
  missing,
  "the launcher ends with the code of an error, and messages name npx",
  async () => {
    await Deno.writeTextFile(
      `${cwd}/pglite.ts`,
      `import { openDatabase } from "resource-api";
     export default { db: await openDatabase("pglite::memory:"), resources: [] };`,
    );
    const [help, file, driver, version] = await Promise.all([
      run(["--help"]),
      run(["missing.db"]),
      run(["--config", "pglite.ts"]),
      run(["--version"]),
    ]);
    assertMatch(help.stdout, /^ {2}npx resource-api DATABASE {10}/m);
    assertEquals(help.stdout.includes("cli.ts"), false);
    assertEquals([file.code, file.stderr], [2, "Cannot open missing.db: there is no such file\n"]);
    assertEquals(driver.code, 2);
    assertMatch(
      driver.stderr,
      /driver of pglite: npm install resource-api @electric-sql\/pglite \(pglite\.ts:2:27\)$/m,
    );
    assertMatch(version.stdout, /^\d+\.\d+\.\d+\n$/);
  },
);

testUnless(
  missing,
  "create-resource-api writes a project whose tests pass with npm's package",
  async () => {
    const { stdout, stderr } = await run(["my-app"], "create-resource-api");
    assertMatch(stdout, /^Created my-app with \d+ files/, stderr);
    const { imports, links } = JSON.parse(await Deno.readTextFile(`${cwd}/my-app/deno.json`));
    assertMatch(imports["@svc/resource-api"], /^npm:resource-api@\^\d+\.\d+\.\d+$/);
    assertEquals(links, undefined);
    // npm has installed the package in the folder above. `deno task check-npm` installs all packages.
    const options = { cwd: `${cwd}/my-app` };
    await using test = startProgram([Deno.execPath(), "test", "-A", "--no-check"], options);
    assertEquals(await test.ended(), 0, test.stderr());
    assertMatch(test.stdout(), /\b4 passed \| 0 failed/);

    await using service = startProgram(["npm", "start"], { ...options, env: { PORT: "0" } });
    await service.logged(/"listening"/);
    // A SIGTERM to npm left the service running: the launcher of npm's Deno passes no signal on.
    service.signal("SIGTERM");
    await service.ended();
    assertMatch(service.stderr(), /"draining"/);
    assertEquals(/request\.signal/.test(service.stderr()), false);
  },
);

testUnless(missing, "a team puts the archives into a project, as docs/hosts.md says", async () => {
  checkPackedNames();
  await Deno.mkdir(`${cwd}/team`);
  await Deno.symlink(`${cwd}/packed`, `${cwd}/team/packages`);
  await followTeamGuide(`${cwd}/team`, { isComplete: false });
});

Deno.test("a package with a wrong version, file, size or dependency is not released", async () => {
  await using scratch = await scratchFolder();
  const place = scratch.path;
  await Deno.mkdir(`${place}/package`);
  const manifest = JSON.stringify({ dependencies: { deno: "^2.9.6" } });
  await Deno.writeTextFile(`${place}/package/package.json`, manifest);
  await Deno.writeTextFile(`${place}/package/secret.txt`, root);
  const files = [{ path: "package.json" }, { path: "secret.txt" }];
  const packed = { name: "x", version: "0.0.1", filename: "x.tgz", size: 6, files };
  const expected = { version: "0.0.2", files: /^package\.json$/, maxBytes: 5, place };
  assertEquals(await faultsOf(packed, expected), [
    "the version is 0.0.1, not 0.0.2",
    "secret.txt must not be in it",
    "README.md is missing",
    "LICENSE is missing",
    "it has 6 bytes, more than 5",
    "secret.txt contains a path of this machine",
    "the dependency deno has the range ^2.9.6",
  ]);
});

Deno.test("a release without the identity token of a workflow fails before it builds", async () => {
  const env = { ACTIONS_ID_TOKEN_REQUEST_URL: "" };
  const { code, stdout, stderr } = await runChild([`${root}dev/release.ts`, "--publish"], { env });
  assertEquals([code, stdout], [1, ""]);
  assertMatch(stderr, /^Cannot publish: provenance needs the identity token of a workflow/m);
});

testUnless(missing, "the package contains the licences of the packages in it", async () => {
  const place = `${cwd}/node_modules/resource-api`;
  const licences = await Deno.readTextFile(`${place}/THIRD_PARTY_LICENSES`);
  for (const name of ["hono", "jose", "postgres", "@modelcontextprotocol/server"]) {
    assert(licences.includes(`${name} `), name);
  }
  const { dependencies } = JSON.parse(await Deno.readTextFile(`${place}/package.json`));
  assertEquals(Object.keys(dependencies), ["deno"]);
});

async function run(args: readonly string[], program = "resource-api") {
  await using child = startProgram([`node_modules/.bin/${program}`, ...args], { cwd });
  const code = await child.ended();
  return { code, stdout: child.stdout(), stderr: child.stderr() };
}
