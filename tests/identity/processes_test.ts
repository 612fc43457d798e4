import { assert, assertEquals, assertRejects } from "@std/assert";
import { usersTable } from "../../exports/auth.ts";
import { openDatabase } from "../../mod.ts";
import { runChild } from "../serve/child_process.ts";
import { scratchFolder } from "../support/scratch.ts";
import { ada } from "./accounts_support.ts";
import { type AccountsProcess, startAccounts } from "./processes_support.ts";

/** Well over the `recheckMs` of the processes, 300, for a machine that is busy. */
const limitMs = 5_000;

/** What ends the sessions of a user, and those of none other. */
const ends: Readonly<
  Record<
    string,
    (
      process: AccountsProcess,
      session: Record<string, string>,
      folder: string,
    ) => Promise<unknown>
  >
> = {
  "a logout": (process, session) => process.post("/api/auth/logout", undefined, session),
  "a logout everywhere": (process, session) =>
    process.post("/api/auth/logout/all", undefined, session),
  "a change of the password": (process, session) =>
    process.post("/api/auth/password/change", {
      currentPassword: ada.password,
      password: "a new and better password",
    }, session),
  "a disabled account": async (_process, _session, folder) => {
    const db = await openDatabase(`sqlite:${folder}/users.db`);
    await db.sql`UPDATE ${usersTable} SET ${usersTable.disabled} = ${true}
      WHERE ${usersTable.email} = ${ada.email}`;
    await db.close();
  },
};

const other = { email: "other@example.com", password: "the password of another" };

for (const [name, end] of Object.entries(ends)) {
  Deno.test(`streams end in every process after ${name}, and those of others continue`, async () => {
    await using folder = await scratchFolder();
    await using first = await startAccounts(folder.path);
    await using second = await startAccounts(folder.path);
    await first.post("/api/auth/signup", ada).then((answer) => answer.body?.cancel());
    const hers = await first.post("/api/auth/signup", { ...other, transport: "bearer" });
    const headers = { authorization: `Bearer ${(await hers.json()).token}` };
    const session = await first.logIn();
    const streams = await Promise.all([first, second].map((one) => one.subscribe(session)));
    const continuing = await second.subscribe(headers);
    for (const stream of [...streams, continuing]) await stream.untilSynced();

    const startedAt = performance.now();
    const answer = await end(first, session, folder.path);
    if (answer instanceof Response) {
      assert(answer.ok, String(answer.status));
      await answer.body?.cancel();
    }
    for (const stream of streams) {
      const events = await stream.untilEnd();
      assertEquals(events.at(-1)?.data, { type: "invalidate", reason: "auth_expired" });
    }
    assert(performance.now() - startedAt < limitMs);
    // The request that comes after the stream is refused as well.
    assertEquals([await first.status(session), await second.status(session)], [401, 401]);
    const created = await second.post("/api/notes", { title: "still here" }, headers);
    assertEquals(created.status, 201);
    await created.body?.cancel();
    assertEquals((await continuing.next())?.type, "added");
    await continuing.close();
  });
}

Deno.test("streams end in every process when the lifetime of their session is over", async () => {
  await using folder = await scratchFolder();
  await using first = await startAccounts(folder.path, "short");
  await using second = await startAccounts(folder.path, "short");
  await first.post("/api/auth/signup", ada).then((answer) => answer.body?.cancel());
  const session = await first.logIn();
  const streams = await Promise.all([first, second].map((one) => one.subscribe(session)));
  const startedAt = performance.now();
  for (const stream of streams) {
    const events = await stream.untilEnd();
    assertEquals(events.at(-1)?.data, { type: "invalidate", reason: "auth_expired" });
  }
  assert(performance.now() - startedAt < 10_000 + limitMs);
});

Deno.test("a process that is killed once a password was replaced leaves no session of the old one", async () => {
  await using folder = await scratchFolder();
  const password = "a new and better password";
  let session: Record<string, string>;
  {
    await using doomed = await startAccounts(folder.path, "kill");
    await doomed.post("/api/auth/signup", ada).then((answer) => answer.body?.cancel());
    session = await doomed.logIn();
    assertEquals(await doomed.status(session), 200);
    const body = { currentPassword: ada.password, password };
    await assertRejects(() => doomed.post("/api/auth/password/change", body, session), TypeError);
  }
  await using next = await startAccounts(folder.path);
  assertEquals(await next.status(session), 401);
  assertEquals(await next.status(await next.logIn(password)), 200);
  const old = await next.post("/api/auth/login", ada);
  await old.body?.cancel();
  assertEquals(old.status, 401);
});

Deno.test("an API key is made and revoked by the command line while the service runs", async () => {
  await using folder = await scratchFolder();
  await using service = await startAccounts(folder.path);
  const cli = (...args: string[]) =>
    runChild([new URL("../../cli.ts", import.meta.url).pathname, "keys", ...args], {
      cwd: folder.path,
    });
  const { stdout, stderr } = await cli("create", "--name", "a robot", "--scopes", "a,b");
  const key = stdout.trim();
  assert(/^key_[0-9a-f]{12}_[\w-]{43}$/.test(key), stdout + stderr);
  assertEquals(await service.status({ "x-api-key": key }), 200);
  const listed = await cli("list");
  const [, id = ""] = key.split("_");
  assert(listed.stdout.includes(id) && listed.stdout.includes("a robot"), listed.stdout);
  assert(!listed.stdout.includes(key.slice(17)), "the secret is shown once");
  assertEquals((await cli("revoke", id)).code, 0);
  const startedAt = performance.now();
  while (await service.status({ "x-api-key": key }) === 200) {
    assert(performance.now() - startedAt < limitMs);
    await new Promise((resolve) => setTimeout(resolve, 50));
  }
});
