import { cp } from "node:fs/promises";
import { assert, assertEquals, assertMatch } from "@std/assert";
import { runChild, startChild } from "../serve/child_process.ts";
import { npmUnreachable } from "../support/npm_registry.ts";
import { scratchFolder } from "../support/scratch.ts";
import { testUnless } from "../support/skip.ts";

const root = new URL("../../", import.meta.url).pathname;
/** The parts of a clone that a start reads: the workspace and the sources. */
const clone = [
  ...["deno.json", "deno.lock", "cli.ts", "mod.ts", "exports", "src", "dev/std"],
  "dashboard/deno.json",
];
const maxBytes = 10_000_000;

testUnless(
  await npmUnreachable(),
  "the first start downloaded every package of the lock",
  async () => {
    await using folder = await scratchFolder();
    const cwd = `${folder.path}/clone`;
    for (const path of clone) await cp(root + path, `${cwd}/${path}`, { recursive: true });
    const options = { cwd, env: { DENO_DIR: `${folder.path}/cache` }, maxLifeMs: 120_000 };
    const lock = await Deno.readTextFile(`${cwd}/deno.lock`);
    const packages = () => downloaded(`${folder.path}/cache/npm`);
    await serveDemonstration([]);
    const { names, bytes } = await packages();
    assertEquals(names, ["deno-std", "hono"]);
    assert(bytes < maxBytes, `${bytes} bytes of packages`);
    // No server listens there. The driver is loaded before it connects.
    const refused = await runChild(["cli.ts", "postgres://127.0.0.1:1/none"], options);
    assertMatch(refused.stderr, /^Cannot use postgres:\/\/127\.0\.0\.1:1\/none: /m);
    assertEquals((await packages()).names, ["deno-std", "hono", "postgres"]);
    assertEquals(await Deno.readTextFile(`${cwd}/deno.lock`), lock);

    await serveDemonstration(["--cached-only", "--frozen"]);
    const { imports, ...others } = JSON.parse(await Deno.readTextFile(`${cwd}/deno.json`));
    const changed = { ...others, imports: { ...imports, "@hono/hono": "npm:hono@^4.13.1" } };
    await Deno.writeTextFile(`${cwd}/deno.json`, JSON.stringify(changed));
    const outdated = await runChild(["--frozen", "cli.ts", "--version"], options);
    assertEquals(outdated.code, 1);
    assertMatch(outdated.stderr, /The lockfile is out of date/);

    async function serveDemonstration(flags: readonly string[]): Promise<void> {
      await using service = startChild([...flags, "cli.ts", "--port", "0"], options);
      await service.printed(/serving a demonstration/);
    }
  },
);

/** The npm packages in a folder of Deno's cache, which has a folder for each registry. */
async function downloaded(cache: string): Promise<{ names: readonly string[]; bytes: number }> {
  const names: string[] = [];
  for await (const registry of Deno.readDir(cache)) {
    for await (const { name } of Deno.readDir(`${cache}/${registry.name}`)) names.push(name);
  }
  return { names: names.sort(), bytes: await sizeOf(cache) };
}

async function sizeOf(path: string): Promise<number> {
  const { isDirectory, size } = await Deno.stat(path);
  if (!isDirectory) return size;
  let sum = 0;
  for await (const { name } of Deno.readDir(path)) sum += await sizeOf(`${path}/${name}`);
  return sum;
}
