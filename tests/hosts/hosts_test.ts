import { cp } from "node:fs/promises";
import { assertEquals, assertMatch } from "@std/assert";
import { createScratchDatabase } from "../support/engines.ts";
import { scratchFolder } from "../support/scratch.ts";
import { npmUnreachable } from "../support/npm_registry.ts";
import { testPostgres, testUnless } from "../support/skip.ts";

const root = new URL("../../", import.meta.url).pathname;
const program = "tests/hosts/smoke.ts";
const page = Deno.readTextFileSync(`${root}docs/hosts.md`);
const section = page.slice(page.indexOf("\n## Node and Bun\n"));
const [, example = ""] = /^```ts ignore\n(.*?)^```$/ms.exec(section) ?? [];
const postgres = testPostgres();

/** What the page installs, and the hosts themselves. */
const [, installed = ""] = /^npm install (.*)$/m.exec(section) ?? [];
const standIns: readonly StandIn[] = ["crypto", "http", "yaml"].map((name) =>
  JSON.parse(Deno.readTextFileSync(`${root}dev/std/${name}/deno.json`))
);
const packages = [
  ...[...installed.split(" "), "node@24", "bun@1"],
  ...standIns.flatMap(({ imports }) => Object.values(imports))
    .map((specifier) => specifier.replace("npm:", "")),
];

/** The program on Deno, with which the answers on other hosts are compared. */
const onDeno = [Deno.execPath(), "run", "-A", root + program];

/** The program in the folder, below a copy of this package. */
const copied = `resource-api/${program}`;

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
    const answers = await run([path, copied, "node-sqlite::memory:"]);
    assertEquals(answers, await run([...onDeno, "node-sqlite::memory:"]));
    assertMatch(answers, /^event: added$/m);
  });

  testUnless(
    missing ?? ("missing" in postgres ? postgres.missing : null),
    `on ${name} an app answers from Postgres as on Deno`,
    async () => {
      if ("missing" in postgres) return;
      const outputs = [];
      for (const command of [[path, copied], onDeno]) {
        const { url, drop } = await createScratchDatabase(postgres.url);
        outputs.push(await run([...command, url]).finally(drop));
      }
      assertEquals(outputs[0], outputs[1]);
      assertMatch(outputs[0] ?? "", /^event: added$/m);
    },
  );

  testUnless(
    missing,
    `on ${name} the program of docs/hosts.md listens, and stops by a signal`,
    async () => {
      await Deno.writeTextFile(`${folder.path}/main.ts`, example);
      await using child = new Deno.Command(path, {
        args: ["main.ts"],
        cwd: folder.path,
        env: { PORT: "0", SERVICE_SECRET: "sixteen or more characters" },
        stdout: "piped",
      }).spawn();
      const lines = child.stdout.pipeThrough(new TextDecoderStream()).getReader();
      const { value: url = "" } = await lines.read();
      // A connection that is kept alive would keep the server, too, for some seconds.
      using client = Deno.createHttpClient({ poolMaxIdlePerHost: 0 });
      const answer = await fetch(url.trim(), { client });
      assertEquals(await answer.json(), { items: [], nextCursor: null, hasMore: false });
      const { body } = await fetch(`${url.trim()}/subscribe`, { client });
      child.kill("SIGTERM");
      for await (const _ of body ?? []);
      await lines.cancel();
      assertEquals((await child.status).code, 0);
    },
  );

  testUnless(missing, `on ${name} serve() says what to do in its place`, async () => {
    const text = `
      import { serve } from "./resource-api/mod.ts";
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
    JSON.stringify({ private: true, type: "module" }),
  );
  for (const path of ["mod.ts", "src", program]) {
    await cp(root + path, `${folder.path}/resource-api/${path}`, { recursive: true });
  }
  try {
    await run(["npm", "install", "--no-audit", "--no-fund", "--no-package-lock", ...packages]);
    for (const standIn of standIns) await addStandIn(standIn);
    for (const [, path] of hosts) await run([path, "--version"]);
    return null;
  } catch (error) {
    // Where npm packages can be downloaded, the failure is one of the document or of this test.
    return await npmUnreachable() ?? Promise.reject(error);
  }
}

interface StandIn {
  readonly name: string;
  readonly exports: Readonly<Record<string, string>>;
  readonly imports: Readonly<Record<string, string>>;
}

/**
 * A package of the Deno standard library, from the same package of npm that stands in for it in
 * this repository, and as JavaScript: Node runs no TypeScript from `node_modules`.
 */
async function addStandIn({ name, exports, imports }: StandIn): Promise<void> {
  const [source = ""] = Object.keys(imports);
  const path = `${folder.path}/node_modules/${name}`;
  await Deno.mkdir(path, { recursive: true });
  const modules = Object.keys(exports)
    .map((subpath) => [subpath, subpath === "." ? "./mod.js" : `${subpath}.js`] as const);
  for (const [, file] of modules) {
    const part = file.replace("./", "").replaceAll("-", "_");
    const real = `${source}/${name.replace("@std/", "")}/${part}`;
    await Deno.writeTextFile(`${path}/${file}`, `export * from "${real}";`);
  }
  const description = { name, type: "module", exports: Object.fromEntries(modules) };
  await Deno.writeTextFile(`${path}/package.json`, JSON.stringify(description));
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
