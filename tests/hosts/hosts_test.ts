import { cp } from "node:fs/promises";
import { assertEquals, assertMatch } from "@std/assert";
import { createScratchDatabase } from "../support/engines.ts";
import { scratchFolder } from "../support/scratch.ts";
import { testPostgres, testUnless } from "../support/skip.ts";

const root = new URL("../../", import.meta.url).pathname;
const program = "tests/hosts/smoke.ts";
const postgres = testPostgres();

/** Packages by the names under which this package imports them, and the hosts themselves. */
const dependencies = {
  "@hono/hono": "npm:hono@^4.13.0",
  postgres: "^3.4.9",
  node: "24",
  bun: "^1.4.0",
};

/** The program on Deno, with which the answers on other hosts are compared. */
const onDeno = [Deno.execPath(), "run", "-A", root + program];

const hosts: readonly (readonly [name: string, path: string])[] = [
  ["Node 24", "./node_modules/node/bin/node"],
  ["Bun", "./node_modules/.bin/bun"],
];

/** All tests of this file share it: installing takes longer than they do. */
const folder = await scratchFolder();
Deno.test.afterAll(async () => await folder[Symbol.asyncDispose]());
const missing = await installHosts();

for (const [name, path] of hosts) {
  testUnless(missing, `mod.ts did not load on ${name}, for want of Deno`, async () => {
    const answers = await run([path, program, "node-sqlite::memory:"]);
    assertEquals(answers, await run([...onDeno, "node-sqlite::memory:"]));
    assertMatch(answers, /^event: added$/m);
  });

  testUnless(
    missing ?? ("missing" in postgres ? postgres.missing : null),
    `on ${name} an app answers from Postgres as on Deno`,
    async () => {
      if ("missing" in postgres) return;
      const outputs = [];
      for (const command of [[path, program], onDeno]) {
        const { url, drop } = await createScratchDatabase(postgres.url);
        outputs.push(await run([...command, url]).finally(drop));
      }
      assertEquals(outputs[0], outputs[1]);
      assertMatch(outputs[0] ?? "", /^event: added$/m);
    },
  );

  testUnless(missing, `on ${name} serve() says what to do in its place`, async () => {
    const text = `
      import { serve } from "./mod.ts";
      serve({}).catch((error) => console.log(error.message));
    `;
    await Deno.writeTextFile(`${folder.path}/serve.mjs`, text);
    assertMatch(await run([path, "serve.mjs"]), /pass the fetch of createApp\(\) to a server/);
  });
}

/** A folder with this package in it, as a user of npm would have it. Null, or what failed. */
async function installHosts(): Promise<string | null> {
  await Deno.writeTextFile(
    `${folder.path}/package.json`,
    JSON.stringify({ private: true, type: "module", dependencies }),
  );
  for (const path of ["mod.ts", "src", program]) {
    await cp(root + path, `${folder.path}/${path}`, { recursive: true });
  }
  try {
    await run(["npm", "install", "--no-audit", "--no-fund", "--no-package-lock"]);
    for (const [, path] of hosts) await run([path, "--version"]);
    return null;
  } catch (error) {
    const [reason = ""] = String(error).split("\n");
    return `npm cannot install Node and Bun here: ${reason}`;
  }
}

/** Runs a program in the folder, which has to succeed, and gives its standard output. */
async function run(command: readonly string[]): Promise<string> {
  const [path = "", ...args] = command;
  const { success, stdout, stderr } = await new Deno.Command(path, {
    args,
    cwd: folder.path,
    env: { NO_COLOR: "1" },
  }).output();
  const printed = new TextDecoder().decode(stdout);
  if (!success) throw new Error(`${path} failed: ${new TextDecoder().decode(stderr)}${printed}`);
  return printed;
}
