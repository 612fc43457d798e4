import { assert, assertEquals, assertMatch } from "@std/assert";
import { startProgram } from "../serve/child_process.ts";
import { testUnless } from "../support/skip.ts";
import { npmFolder } from "./npm_folder.ts";
import { checkService, createShop } from "./npm_service.ts";

/** All tests of this file share it, because npm unpacks Deno, which has 95 MB. */
const folder = await npmFolder();
const missing = typeof folder === "string" ? folder : null;
const cwd = typeof folder === "string" ? "" : folder.path;
Deno.test.afterAll(async () => {
  if (typeof folder !== "string") await folder[Symbol.asyncDispose]();
});

testUnless(missing, "npx resource-api serves, streams, and stops with its launcher", async () => {
  createShop(cwd);
  await checkService(cwd, {
    npx: ["npx", "resource-api"],
    launcher: ["node_modules/.bin/resource-api"],
  });
});

testUnless(
  missing,
  "npx resource-api ends with the code of its error, and names itself",
  async () => {
    const [help, file, driver, version] = await Promise.all([
      run(["--help"]),
      run(["missing.db"]),
      run(["--config", "pglite.ts"], {
        "pglite.ts": `import { openDatabase } from "resource-api";
        export default { db: await openDatabase("pglite::memory:"), resources: [] };`,
      }),
      run(["--version"]),
    ]);
    assertMatch(help.stdout, /^ {2}npx resource-api DATABASE {10}/m);
    assertEquals(help.stdout.includes("cli.ts"), false);
    assertEquals([file.code, file.stderr], [2, "Cannot open missing.db: there is no such file\n"]);
    assertEquals(driver.code, 2);
    assertMatch(
      driver.stderr,
      /driver of pglite: npm install resource-api @electric-sql\/pglite$/m,
    );
    assertMatch(version.stdout, /^\d+\.\d+\.\d+\n$/);
  },
);

testUnless(missing, "the package contains the licences of the packages in it", async () => {
  const place = `${cwd}/node_modules/resource-api`;
  const licences = await Deno.readTextFile(`${place}/THIRD_PARTY_LICENSES`);
  for (const name of ["hono", "jose", "postgres", "@modelcontextprotocol/server"]) {
    assert(licences.includes(`${name} `), name);
  }
  const { dependencies } = JSON.parse(await Deno.readTextFile(`${place}/package.json`));
  assertEquals(Object.keys(dependencies), ["deno"]);
});

async function run(args: readonly string[], files: Readonly<Record<string, string>> = {}) {
  for (const [name, text] of Object.entries(files)) {
    await Deno.writeTextFile(`${cwd}/${name}`, text);
  }
  await using child = startProgram(["npx", "resource-api", ...args], { cwd });
  const code = await child.ended();
  return { code, stdout: child.stdout(), stderr: child.stderr() };
}
