import { assertEquals, assertRejects } from "@std/assert";
import { openDatabase } from "../../mod.ts";
import { parseArguments } from "../../src/cli/arguments.ts";
import { checkService } from "../../src/cli/check/run_check_command.ts";
import { runChild } from "../serve/child_process.ts";
import { testOnPostgres } from "../support/postgres_tests.ts";
import { runScript, scratchFolder } from "../support/scratch.ts";

const root = new URL("../../", import.meta.url).href;

/** The findings of `check` with these arguments, a line each. */
async function check(...args: readonly string[]): Promise<readonly string[]> {
  const command = parseArguments(["check", ...args]);
  if (command.kind !== "check") throw new Error(JSON.stringify(command));
  return (await checkService(command)).map(({ level, message }) => `${level}: ${message}`);
}

/** Writes a configuration, whose database has a table of notes that may differ from it. */
async function write(folder: string, name: string, options: string, columns = ""): Promise<string> {
  const db = await openDatabase(`node-sqlite:${folder}/${name}.db`);
  await runScript(db.driver, `CREATE TABLE notes (id INTEGER PRIMARY KEY, title TEXT${columns});`);
  await db.close();
  await Deno.chmod(`${folder}/${name}.db`, 0o600);
  const path = `${folder}/${name}.ts`;
  await Deno.writeTextFile(
    path,
    `import { all, eq, integer, openDatabase, resource, table, text } from "${root}mod.ts";
    import { passwordAuth } from "${root}exports/auth.ts";
    const notes = table("notes", { id: integer().primaryKey(), title: text() });
    const of = (auth) => [resource(notes, { id: notes.id, auth, capabilities: { enableSubscribe: false } })];
    export default { db: await openDatabase("node-sqlite:${folder}/${name}.db"), ${options} };`,
  );
  return path;
}

Deno.test("check names drift, scopes that cannot be compiled, and what a start says", async () => {
  await using scratch = await scratchFolder();
  const { path } = scratch;
  const right = await write(
    path,
    "right",
    "resources: of({ read: (user) => eq(notes.title, user.id) })",
  );
  assertEquals(await check("--config", right), []);
  const drifted = await write(path, "drifted", "resources: of({})", ", body TEXT NOT NULL");
  const [drift = "", ...others] = await check("-c", drifted);
  assertEquals([/^finding: .*"?notes"?.*body/.test(drift), others], [true, []], drift);
  const misspelt = await write(
    path,
    "misspelt",
    "resources: of({ read: () => eq(notes.titel, 1) })",
  );
  const [scope = ""] = await check("-c", misspelt);
  assertEquals(
    /auth\.read: it cannot be tried with the user {"id":"check"}/.test(scope),
    true,
    scope,
  );
  // A configuration that has samples is tried with these.
  const sampled = await write(
    path,
    "sampled",
    'auth: { samples: [{ id: "a", org: { id: "b" } }] }, resources: of({ read: (user) => eq(notes.title, user.org.id) })',
  );
  assertEquals(await check("-c", sampled), []);
  await assertRejects(() => check("--config", `${path}/gone.ts`), Error, "there is no such file");
  const wrong = await write(path, "wrong", "resources: [], prot: 1");
  await assertRejects(() => check("-c", wrong), Error, "did you mean");
  const database = `node-sqlite:${path}/right.db`;
  assertEquals(await check(database), []);
  const ofWrites = await check(database, "--write");
  assertEquals(ofWrites.length > 0 && ofWrites.every((one) => one.startsWith("notice: ")), true);
});

Deno.test("check --production names each open point of the checklist", async () => {
  await using scratch = await scratchFolder();
  const { path } = scratch;
  const open = await write(
    path,
    "open",
    'cors: { origin: "*" }, adminUI: true, secret: "sixteen or more characters", resources: of({ public: { read: true } })',
  );
  await Deno.chmod(`${path}/open.db`, 0o644);
  await Deno.mkdir(`${path}/backups/2020-01-01T00-00-00Z`, { recursive: true });
  await Deno.mkdir(`${path}/backups/2026-01-01T00-00-00Z.partial`);
  const found = await check("-c", open, "--production");
  const days = /the newest backup is (\d+) days old/.exec(found.join())?.[1];
  assertEquals(found.filter((one) => !/-wal|-shm/.test(one)), [
    "finding: the environment is not production: set SERVICE_ENV=production",
    "finding: kv is the memory of the process: set kv to a file or a server that all processes share",
    "finding: abuseProtection.trustProxy is not set: set the number of your own proxies, or 0",
    "finding: cors permits every origin: list the origins of your pages",
    "finding: SERVICE_SECRET has only 26 characters: use 32 random bytes, from openssl rand -base64 32",
    'finding: "notes" is public for reading without a limit: set abuseProtection.budget.classes.anonymous',
    `finding: other users can use ${path}/open.db (mode 644): chmod 600 ${path}/open.db`,
    "notice: securityHeaders.hsts is not set: set securityHeaders.hsts if a proxy ends TLS",
    "notice: the process has all permissions (-A): list the permissions that the service needs",
    `finding: the newest backup is ${days} days old: run deno run -A cli.ts backup ${path}/backups regularly`,
    "finding: Cannot start: adminUI.roles must be set in production: the roles of who runs the " +
    'service, as in { edit: ["operator"] } (or adminUI.authorize: a function; with --ui: --users)',
  ]);
  const mails = await write(
    path,
    "mails",
    "auth: { use: [passwordAuth()] }, resources: []",
  );
  const ofMails = await check("-c", mails, "--production");
  assertEquals(ofMails.filter((one) => one.includes("passwordAuth.sendMail is missing")).length, 1);
  assertEquals(ofMails.filter((one) => one.includes("SERVICE_SECRET is not set")).length, 1);
  const closed = await write(
    path,
    "closed",
    `env: "production", kv: "${path}/service.kv", secret: "${
      "x".repeat(44)
    }", securityHeaders: { hsts: true },
      abuseProtection: { trustProxy: 1, budget: { classes: { anonymous: { capacity: 10, refillPerMinute: 10 } } } },
      resources: of({ public: { read: true } })`,
  );
  await Deno.mkdir(
    `${path}/backups/${new Date().toISOString().slice(0, 19).replaceAll(":", "-")}Z`,
  );
  const ofClosed = await check("-c", closed, "--production");
  assertEquals(ofClosed.filter((one) => one.startsWith("finding: ") && !/-wal|-shm/.test(one)), []);
});

Deno.test("check exits with 0, 1 or 2", async () => {
  await using scratch = await scratchFolder();
  const { path } = scratch;
  const drifted = await write(path, "drifted", "resources: of({})", ", body TEXT NOT NULL");
  const cli = new URL("../../cli.ts", import.meta.url).pathname;
  await Deno.writeTextFile(`${path}/.env`, "SERVICE_ENV=production\n", { mode: 0o644 });
  const run = (...args: readonly string[]) =>
    runChild(["--no-check", cli, "check", ...args], { cwd: path });
  const [fine, found, gone, misused] = await Promise.all([
    run("node-sqlite:drifted.db"),
    run("--config", drifted, "--production", "--json"),
    run("gone.db"),
    run("a.db", "b.db"),
  ]);
  assertEquals([fine.code, fine.stdout, fine.stderr], [0, "no findings\n", ""]);
  const { findings } = JSON.parse(found.stdout);
  const messages: readonly string[] = findings.map(({ message }: { message: string }) => message);
  assertEquals([found.code, findings[0].level], [1, "finding"]);
  for (const part of ["drifted.db", "other users can use .env (mode 644): chmod 600 .env"]) {
    assertEquals(messages.filter((message) => message.includes(part)).length > 0, true, part);
  }
  assertEquals([gone.code, gone.stdout], [2, ""]);
  assertEquals([misused.code, misused.stderr.split("\n")[0]], [
    ...[2, 'One database at a time: "b.db" is one too many'],
  ]);
});

testOnPostgres("check finds writes that the role of the database may not do", async (url) => {
  await using scratch = await scratchFolder();
  const admin = await openDatabase(url);
  const role = `reader_${crypto.randomUUID().slice(0, 8)}`;
  await runScript(
    admin.driver,
    `CREATE TABLE notes (id integer PRIMARY KEY, title text, secret text);
    CREATE ROLE ${role} LOGIN PASSWORD 'a long password';
    GRANT SELECT, INSERT (id, title) ON notes TO ${role};`,
  );
  const place = new URL(url);
  [place.username, place.password] = [role, "a long password"];
  const path = `${scratch.path}/notes.ts`;
  await Deno.writeTextFile(
    path,
    `import { all, integer, openDatabase, resource, table, text } from "${root}mod.ts";
    const notes = table("notes", { id: integer().primaryKey(), secret: text(), title: text() });
    const auth = { read: all, create: all, update: all, delete: all };
    const capabilities = { enableSubscribe: false, enableDelete: false };
    export default { db: await openDatabase("${place.href}"),
      resources: [resource(notes, { id: notes.id, auth, capabilities })] };`,
  );
  try {
    const found = (await check("-c", path)).filter((one) => one.includes("forbids"));
    assertEquals(found, [
      'finding: "notes" permits update, which the database forbids (permission denied for table ' +
      "notes): grant the right, or do not permit update",
    ]);
  } finally {
    await runScript(admin.driver, `DROP OWNED BY ${role};\nDROP ROLE ${role};`);
    await admin.close();
  }
});

Deno.test("check says which part does not respond", async () => {
  await using scratch = await scratchFolder();
  const path = `${scratch.path}/down.ts`;
  await Deno.writeTextFile(
    path,
    `import { openDatabase } from "${root}mod.ts";
    export default { db: await openDatabase("postgres://127.0.0.1:1/x"), resources: [] };`,
  );
  assertEquals(await check("-c", path), [
    "finding: the database does not respond: start the database, or correct its address",
  ]);
});
