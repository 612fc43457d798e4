import { assert, assertEquals, assertMatch, assertRejects } from "@std/assert";
import { type Child, startChild } from "../serve/child_process.ts";
import { diskFolder } from "../support/disk.ts";
import { packages, publishedSources } from "../support/published_sources.ts";
import { scratchFolder } from "../support/scratch.ts";

const root = new URL("../../", import.meta.url);

/** The command line in a folder whose deno.json sets no flags, and a configuration to serve. */
async function copiedProgram(): Promise<AsyncDisposable & { path: string; program: string }> {
  const folder = await scratchFolder({ dir: diskFolder });
  const program = `${folder.path}/cli.ts`;
  const write = (name: string, text: string) => Deno.writeTextFile(`${folder.path}/${name}`, text);
  const text = await Deno.readTextFile(new URL("cli.ts", root));
  await write("cli.ts", text.replaceAll('"./', `"${root}`));
  const imports = Object.entries(await packages())
    .map(([name, target]) => [name, target.replace("./", root.href)]);
  await write("deno.json", JSON.stringify({ imports: Object.fromEntries(imports) }));
  await Deno.copyFile(new URL("deno.lock", root), `${folder.path}/deno.lock`);
  await write("service.config.ts", configuration(root.href));
  return { ...folder, path: folder.path, program };
}

function configuration(place: string): string {
  return `
    import { integer, openDatabase, resource, table } from "${place}mod.ts";
    const things = table("things", { id: integer().primaryKey() });
    const db = await openDatabase("node-sqlite::memory:");
    await db.createTables([things]);
    const variables = Object.keys(Deno.env.toObject()).filter((name) => /RUN_AGAIN/.test(name));
    console.log("facts", typeof Deno.openKv, variables.length, Deno.pid, "end");
    const resources = [resource(things, { id: things.id, auth: { public: true } })];
    export default { db, kv: "a.kv", resources };
  `;
}

interface Running {
  readonly url: string;
  readonly pid: number;
  readonly openKv: string;
}

/** Waits until the program serves; reports whether the serving process has Deno.openKv. */
async function running(child: Child): Promise<Running> {
  const [, openKv = "", variables, pid] = await child.printed(/^facts (\w+) (\d+) (\d+) end$/m);
  assertEquals(variables, "0", "the variable is for the child alone");
  const [, url = ""] = await child.printed(/(http:\/\/[^/]+)\/healthz/);
  assertEquals((await statusOf(`${url}/readyz`))[0], 200);
  return { url, pid: Number(pid), openKv };
}

async function statusOf(url: string): Promise<readonly [status: number, body: string]> {
  const response = await fetch(url);
  return [response.status, await response.text()];
}

/** Resolves once no process listens at the address. */
async function gone(url: string): Promise<void> {
  while (true) {
    try {
      await statusOf(url);
    } catch (error) {
      if (error instanceof TypeError) return;
      throw error;
    }
  }
}

for (const signal of ["SIGTERM", "SIGINT"] as const) {
  Deno.test(`without the flags the program runs again with them, and stops by ${signal}`, async () => {
    await using copy = await copiedProgram();
    await using child = startChild([copy.program, "--port", "0"], { cwd: copy.path });
    const { url, pid, openKv } = await running(child);
    assertEquals(openKv, "function");
    assert(pid !== child.pid);
    assertMatch((await statusOf(`${url}/readyz`))[1], /"store":\{"status":"ok"/);
    assert((await Deno.stat(`${copy.path}/a.kv`)).isFile);
    child.signal(signal);
    assertEquals(await child.ended(), 0, child.stderr());
    await assertRejects(() => fetch(url));
    assert(!child.stderr().includes("store_in_memory"), child.stderr());
  });
}

Deno.test("workers run with the flags", async () => {
  await using copy = await copiedProgram();
  const args = [copy.program, "--port", "0", "--workers", "1"];
  await using child = startChild(args, { cwd: copy.path });
  const { pid, openKv } = await running(child);
  assertEquals(openKv, "function");
  assert(pid !== child.pid);
});

Deno.test("the exit code of the second run is that of the first", async () => {
  await using copy = await copiedProgram();
  await using child = startChild([copy.program, "--config", "absent.ts"], { cwd: copy.path });
  assertEquals(await child.ended(), 2);
  assertMatch(child.stderr(), /^Cannot read absent\.ts/m);
});

Deno.test("the second run ends when the first one is killed", async () => {
  await using copy = await copiedProgram();
  await using child = startChild([copy.program, "--port", "0"], { cwd: copy.path });
  const { url } = await running(child);
  child.signal("SIGKILL");
  await gone(url);
});

Deno.test("without the permission to run a child the store is in memory, with a warning", async () => {
  await using copy = await copiedProgram();
  const permissions = ["read", "write", "net", "env", "sys", "ffi"].map((name) =>
    `--allow-${name}`
  );
  await using child = startChild([copy.program, "--port", "0"], { cwd: copy.path, permissions });
  const { pid, openKv } = await running(child);
  assertEquals([pid, openKv], [child.pid, "undefined"]);
  assertMatch(child.stderr(), /"level":"warning","event":"store_in_memory"/);
  assertMatch(child.stderr(), /a\.kv cannot be opened without --unstable-kv/);
  await assertRejects(() => Deno.stat(`${copy.path}/a.kv`), Deno.errors.NotFound);
  child.signal();
  assertEquals(await child.ended(), 0);
});

Deno.test("a watcher that restarts the program ends the second run of the old one", async () => {
  await using copy = await copiedProgram();
  await using child = startChild(["--watch", copy.program, "--port", "0"], { cwd: copy.path });
  const { url, pid } = await running(child);
  await Deno.writeTextFile(copy.program, "\n", { append: true });
  await gone(url);
  const seen = new RegExp(`^facts \\w+ \\d+ (?!${pid} )(\\d+) end$`, "m");
  await child.printed(seen);
  const addresses = /(http:\/\/[^/]+)\/healthz[^]*?(http:\/\/[^/]+)\/healthz/;
  const [, , second = ""] = await child.printed(addresses);
  assertEquals((await statusOf(`${second}/readyz`))[0], 200);
  child.signal("SIGKILL");
  await gone(second);
});

Deno.test("where the flags are there the program runs once", async () => {
  await using folder = await scratchFolder();
  await Deno.writeTextFile(`${folder.path}/service.config.ts`, configuration(root.href));
  const program = new URL("cli.ts", root).pathname;
  await using child = startChild([program, "--port", "0"], { cwd: folder.path });
  const { pid, openKv } = await running(child);
  assertEquals([pid, openKv], [child.pid, "function"]);
});

Deno.test("loaded from a URL the program runs again from there", async () => {
  await using folder = await scratchFolder();
  await using sources = await publishedSources(folder.path);
  const { place, env } = sources;
  await Deno.writeTextFile(`${folder.path}/service.config.ts`, configuration(place));
  await using child = startChild([`${place}cli.ts`, "--port", "0"], {
    cwd: folder.path,
    env,
  });
  const { pid, openKv } = await running(child);
  assert(pid !== child.pid);
  assertEquals(openKv, "function");
  child.signal();
  assertEquals(await child.ended(), 0, child.stderr());
});
