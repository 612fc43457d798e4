import { DatabaseSync } from "node:sqlite";
import { assert, assertEquals, assertMatch } from "@std/assert";
import { runChild, startChild } from "../../serve/child_process.ts";
import { scratchFolder } from "../../support/scratch.ts";
import { testUnless } from "../../support/skip.ts";
import { notesConfig, program, untilEnded } from "./several_workers.ts";

Deno.test("workers that cannot share their state, or do not start, end with one message", async () => {
  await using folder = await scratchFolder();
  const write = async (name: string, text: string) => {
    await Deno.writeTextFile(`${folder.path}/${name}`, text);
    return name;
  };
  const broken = await write("broken.ts", "export default {");
  const ending = await write(
    "ending.ts",
    'console.error("share:", Deno.env.get("SERVICE_WORKER")); Deno.exit(7);',
  );
  const taken = Deno.listen({ port: 0 });
  const NOTES_DB = `sqlite:${folder.path}/notes.db`;
  const NOTES_KV = `${folder.path}/notes.kv`;
  const cases: readonly [args: readonly string[], env: Env, code: number, message: RegExp][] = [
    [["--config", broken], {}, 2, /^Cannot load broken\.ts: /],
    [["--config", ending], {}, 7, /^share: undefined$/],
    [[], {}, 2, /^Cannot start several workers on :memory: .*use a SQLite file or Postgres/],
    [["--config", notesConfig], { NOTES_DB }, 2, memoryRefused],
    [["--config", notesConfig], { NOTES_DB, NOTES_KV: ":memory:" }, 2, memoryRefused],
    [
      ["--config", notesConfig, "--port", `${taken.addr.port}`],
      { NOTES_DB, NOTES_KV },
      1,
      /^Cannot listen on .*: the port is taken; try --port 0/,
    ],
    [["--config", notesConfig], { SERVICE_ENV: "production", NOTES_DB, NOTES_KV }, 2, noSecret],
  ];
  const ended = await Promise.all(cases.map(async ([args, env]) => {
    const all = [program, "--workers", "2", ...args];
    return await runChild(all, { cwd: folder.path, env, maxLifeMs: 60_000 });
  }));
  taken.close();
  cases.forEach(([args, , code, message], index) => {
    const { stdout, stderr } = ended[index] ?? { stdout: "", stderr: "" };
    const lines = stderr.split("\n").filter((line) => message.test(line));
    assertEquals([ended[index]?.code, stdout, lines.length], [code, "", 1], `${args}\n${stderr}`);
  });
});

type Env = Readonly<Record<string, string>>;

const memoryRefused = /^Cannot start several workers with the key-value store in memory: .*set kv/;
const noSecret = /^Cannot start in production: secret is missing \(set SERVICE_SECRET\)$/;

Deno.test("workers that end as soon as they start are given up, with their exit code", async () => {
  await using folder = await scratchFolder();
  await Deno.writeTextFile(
    `${folder.path}/service.config.ts`,
    `import { config } from "${notesConfig}";
    import { existsSync } from "node:fs";
    if (existsSync("ends")) Deno.exit(5);
    export default config;`,
  );
  const env = { NOTES_DB: `sqlite:${folder.path}/notes.db`, NOTES_KV: `${folder.path}/notes.kv` };
  const args = [program, "--port", "0", "--workers", "1"];
  await using child = startChild(args, { cwd: folder.path, env });
  await child.printed(/^Try:/m);
  await Deno.writeTextFile(`${folder.path}/ends`, "");
  const [, pid = ""] = /"worker_started".*"pid":(\d+)/.exec(child.stderr()) ?? [];
  Deno.kill(Number(pid), "SIGKILL");
  assertEquals(await child.ended(), 5, child.stderr());
  assertMatch(child.stderr(), /^Cannot keep the workers running: 5 in a row ended at once$/m);
  assertEquals(child.stderr().match(/"worker_ended".*"reason":"exit code 5"/g)?.length, 4);
});

Deno.test("a worker that stops while its supervisor is killed logs no error", async () => {
  await using folder = await scratchFolder();
  const env = { NOTES_DB: `sqlite:${folder.path}/notes.db`, NOTES_KV: `${folder.path}/notes.kv` };
  const args = [program, "--config", notesConfig, "--port", "0", "--workers", "1"];
  await using child = startChild(args, { env });
  await child.logged(/"worker_started"/);
  const [, pid = ""] = /"worker_started".*"pid":(\d+)/.exec(child.stderr()) ?? [];
  // It meets its own end and that of the supervisor at the same moment, in this order.
  Deno.kill(Number(pid), "SIGSTOP");
  Deno.kill(Number(pid), "SIGTERM");
  child.signal("SIGKILL");
  await untilEnded([child.pid]);
  Deno.kill(Number(pid), "SIGCONT");
  await untilEnded([Number(pid)]);
  await child.ended();
  assertMatch(child.stderr(), /"draining"/);
  assertEquals(child.stderr().match(/uncaught_error/), null);
});

testUnless(
  await hasScript() ? null : "there is no script (util-linux), which makes a terminal",
  "a terminal that is closed ends the workers, which a SIGHUP would replace",
  async () => {
    await using folder = await scratchFolder();
    const { path } = folder;
    const env = { NOTES_DB: `sqlite:${path}/notes.db`, NOTES_KV: `${path}/notes.kv` };
    const inTerminal = ["sh", "-c", 'exec script -qec "$*" /dev/null', "sh"];
    const args = [program, "--config", notesConfig, "--port", "0", "--workers", "2"];
    await using terminal = startChild(args, { env, startedBy: inTerminal });
    const [text] = await terminal.printed(/^[^]*Try:\r\n/m);
    const pids = [...text.matchAll(/serves, in process (\d+)/g)].map(([, pid]) => Number(pid));
    assertEquals(pids.length, 2);
    // Its end of the terminal closes with it.
    terminal.signal("SIGKILL");
    await untilEnded(pids);
  },
);

async function hasScript(): Promise<boolean> {
  const { success } = await new Deno.Command("sh", { args: ["-c", "command -v script"] }).output();
  return success;
}

Deno.test("a database is served by workers with one banner and one token, which no process shows", async () => {
  await using folder = await scratchFolder();
  const path = `${folder.path}/shop.db`;
  const db = new DatabaseSync(path);
  db.exec(
    "CREATE TABLE customer (id INTEGER PRIMARY KEY, name TEXT); INSERT INTO customer VALUES (1, 'Ada')",
  );
  db.close();
  await using child = startChild([program, path, "--write", "--port", "0", "--workers", "2"]);
  const [, token = ""] = await child.printed(/Bearer (\S+)$/m);
  const [, url] = await child.printed(/(http:\/\/[^/]+)\/healthz/);
  assertEquals(child.stdout().match(/Bearer/g)?.length, 1);
  await child.logged(/"worker_started"/, 2);
  const client = Deno.createHttpClient({ poolMaxIdlePerHost: 0 });
  const headers = { "content-type": "application/json", authorization: `Bearer ${token}` };
  for (let id = 2; id < 12; id++) {
    const body = JSON.stringify({ id, name: "Grace" });
    const init = { method: "POST", headers: { ...headers, "idempotency-key": `${id}` }, body };
    const response = await fetch(`${url}/api/customer`, { ...init, client });
    assertEquals([response.status, (await response.json()).id], [201, id]);
    const again = await fetch(`${url}/api/customer`, { ...init, client });
    assertEquals([again.status, (await again.json()).id], [201, id]);
  }
  client.close();
  for (const [, pid = ""] of child.stderr().matchAll(/"worker_started".*"pid":(\d+)/g)) {
    const shown = Deno.readTextFileSync(`/proc/${pid}/cmdline`);
    assert(shown.includes("--workers") && !shown.includes(token), shown);
  }
  child.signal("SIGINT");
  assertEquals(await child.ended(), 0, child.stderr());
});
