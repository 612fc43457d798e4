import { assert, assertEquals } from "@std/assert";
import { createApp, integer, openDatabase, resource, table, text } from "../../../../mod.ts";
import { apiKeyAuth, passwordAuth } from "../../../../exports/auth.ts";
import { ApiKeys } from "../../../../src/identity/keys/api_keys.ts";
import { createMemoryKeyValue } from "../../../../src/kv/memory_key_value.ts";
import { systemRuntime } from "../../../../src/runtime/system_runtime.ts";
import type { AppConfig } from "../../../../src/app/config.ts";

const notes = table("notes", { id: integer().primaryKey() });
const password = "a password of the tests";
const own = { "sec-fetch-site": "same-origin" };

interface Answer {
  readonly status: number;
  readonly text: string;
  // deno-lint-ignore no-explicit-any -- a test says what it expects by asserting it
  readonly body: any;
}

/** A service with the accounts ann (administrator), ed, rea (operators) and uma (a user). */
async function openSite(users: "kv" | undefined, adminUI: AppConfig["adminUI"] = roles) {
  const db = await openDatabase("sqlite::memory:");
  await db.createTables([notes]);
  const system = systemRuntime(() => {});
  // Each request is later than `recheckMs`, so that an ended credential is never trusted.
  let elapsed = 0;
  const runtime = {
    ...system,
    clock: { ...system.clock, elapsedMs: () => elapsed += 2 },
  };
  const kv = createMemoryKeyValue(runtime.clock);
  const app = await createApp({
    ...{ db, kv, adminUI, runtime, secret: "a secret for the tests only" },
    auth: {
      recheckMs: 1,
      use: [
        apiKeyAuth(),
        passwordAuth({
          users,
          signup: { verify: false },
          passwordReset: false,
          passwords: { scrypt: { N: 4096, r: 8, p: 1 } },
        }),
      ],
    },
    resources: [resource(notes, { id: notes.id, auth: { public: { read: true } } })],
  });
  async function ask(
    path: string,
    { token = null, body, headers = own }: {
      readonly token?: string | null;
      readonly body?: unknown;
      readonly headers?: Readonly<Record<string, string>>;
    } = {},
  ): Promise<Answer> {
    const sent = body === undefined ? {} : { method: "POST", body: JSON.stringify(body) };
    const response = await app.fetch(
      new Request(`http://localhost${path}`, {
        ...sent,
        headers: {
          ...headers,
          "content-type": "application/json",
          ...(token === null ? {} : { authorization: `Bearer ${token}` }),
        },
      }),
      { remoteAddr: { hostname: "127.0.0.1" } },
    );
    const text = await response.text();
    return { status: response.status, text, body: text === "" ? null : JSON.parse(text) };
  }
  const people: Record<string, { readonly id: string; readonly token: string }> = {};
  for (const name of ["ann", "ed", "rea", "uma"]) {
    const given = { email: `${name}@example.com`, password, transport: "bearer" };
    const { status, body } = await ask("/api/auth/signup", { body: { ...given, name } });
    assertEquals(status, 201);
    people[name] = { id: body.user.id, token: body.token };
  }
  const person = (name: string) => people[name] ?? { id: "", token: "" };
  return {
    ...{ app, db, kv, ask, person, keys: new ApiKeys(kv, runtime) },
    async [Symbol.asyncDispose]() {
      await app.close();
      await db.close();
    },
  };
}

const roles = {
  roles: { administer: ["administrator"], edit: ["operator"], read: ["viewer"] },
} as const;
const place = "/__service/ui";

/** Gives the roles as the command line does. */
async function promote({ db, person }: Awaited<ReturnType<typeof openSite>>): Promise<void> {
  for (const [name, role] of [["ann", "administrator"], ["ed", "operator"], ["rea", "viewer"]]) {
    const list = JSON.stringify([role]);
    await db.sql`UPDATE users SET roles = ${list} WHERE id = ${person(name ?? "").id}`;
  }
}

const reports = ["/report/accounts", "/report/account?id=1", "/report/api-keys"];
const actions = [
  ..."disable,enable,roles,end-sessions,end-session".split(",").map((one) => `account-${one}`),
  "key-revoke",
];

Deno.test("only administrators read and change accounts and keys", async () => {
  await using site = await openSite(undefined);
  const { ask, person, keys } = site;
  await promote(site);
  const { key } = await keys.create({ name: "k", userId: null, scopes: [], expiresAt: null });
  const body = { account: person("uma").id, session: "x", roles: ["administrator"], key: key.id };
  for (const [name, status] of [["ed", 403], ["rea", 403], ["uma", 403], ["", 401]] as const) {
    const { token } = person(name);
    const sent = { token: token || null };
    for (const path of reports) {
      assertEquals((await ask(`${place}${path}`, sent)).status, status, `${name} ${path}`);
    }
    for (const action of actions) {
      const { status: got } = await ask(`${place}/action/${action}`, { ...sent, body });
      assertEquals(got, status, `${name} ${action}`);
    }
  }
  const { token } = person("ann");
  // A page of another origin cannot use the session of an administrator.
  for (
    const headers of [{ "sec-fetch-site": "cross-site" }, { "origin": "https://evil.example" }]
  ) {
    for (const path of reports) {
      assertEquals((await ask(`${place}${path}`, { token, headers })).status, 403);
    }
    for (const action of actions) {
      const { status } = await ask(`${place}/action/${action}`, { token, headers, body });
      assertEquals(status, 403, action);
    }
  }
  const { body: { account } } = await ask(`${place}/report/account?id=${body.account}`, { token });
  assertEquals([account.roles, account.isDisabled], [[], false]);
  assertEquals((await keys.list()).length, 1);
  // Without this role, the menu has no such pages.
  for (const [name, has] of [["ann", true], ["ed", false]] as const) {
    const service = await ask(`${place}/report/service`, { token: person(name).token });
    const { accounts, keys } = service.body.features;
    assertEquals({ accounts, keys }, { accounts: has, keys: has });
  }
});

Deno.test("an administrator ends sessions, disables, enables, sets roles and revokes keys", async () => {
  await using site = await openSite(undefined);
  const { ask, person, keys } = site;
  await promote(site);
  const [{ token }, uma] = [person("ann"), person("uma")];
  const account = uma.id;
  const login = { email: "uma@example.com", password, transport: "bearer" };
  const second = (await ask("/api/auth/login", { body: login })).body.token;
  const given = { name: "<b>key</b>", userId: account, scopes: ["export"], expiresAt: null };
  const { key, text: secret } = await keys.create(given);
  const act = async (name: string, body: object) =>
    (await ask(`${place}/action/${name}`, { token, body })).status;
  const read = () => ask(`${place}/report/account?id=${account}`, { token });
  const isGood = async (token: string) => (await ask("/api/auth/me", { token })).body.user !== null;

  assertEquals([await isGood(uma.token), await isGood(second), await isGood(secret)], [
    true,
    true,
    true,
  ]);
  const { body, text } = await read();
  assertEquals(body.account.email, "uma@example.com");
  assert(Math.abs(Date.parse(body.account.createdAt) - Date.now()) < 60_000);
  assertEquals([body.sessions.length, body.isComplete], [2, true]);
  assertEquals(body.keys.map(({ id }: { id: string }) => id), [key.id]);
  const stored = await site.kv.list({ prefix: ["session"], limit: 100 });
  assertEquals(stored.length, 5);
  const hidden = ["scrypt", "hash", uma.token, second, secret.slice(17)];
  for (const one of [...hidden, ...stored.map((entry) => String(entry.key[1]))]) {
    assertEquals(text.includes(one), false, one);
  }

  const session = body.sessions[0].id;
  assertEquals(await act("account-end-session", { account, session }), 200);
  assertEquals(await act("account-end-session", { account, session }), 404);
  assertEquals((await read()).body.sessions.length, 1);
  assertEquals([await isGood(uma.token), await isGood(second)].toSorted(), [false, true]);
  // A session of another account does not end under this account.
  const other = await ask(`${place}/report/account?id=${person("ed").id}`, { token });
  const foreign = { account, session: other.body.sessions[0].id };
  assertEquals(await act("account-end-session", foreign), 404);
  assertEquals(await isGood(person("ed").token), true);

  assertEquals(await act("account-roles", { account, roles: ["a", "a", "b"] }), 200);
  assertEquals((await read()).body.account.roles, ["a", "b"]);
  for (const wrong of ["a", [7], [""], ["a b"], ["\ud800"], null]) {
    assertEquals(await act("account-roles", { account, roles: wrong }), 400, String(wrong));
  }
  assertEquals(await act("account-end-sessions", { account }), 200);
  assertEquals([await isGood(uma.token), await isGood(second)], [false, false]);
  assertEquals(await act("account-disable", { account }), 200);
  assertEquals((await ask("/api/auth/login", { body: login })).status, 401);
  assertEquals((await read()).body.account.isDisabled, true);
  assertEquals(await act("account-enable", { account }), 200);
  assertEquals((await ask("/api/auth/login", { body: login })).status, 200);
  assertEquals(await act("key-revoke", { key: key.id }), 200);
  assertEquals(await act("key-revoke", { key: key.id }), 404);
  assertEquals(await isGood(secret), false);

  // The last administrator cannot disable the own account by mistake.
  const self = person("ann").id;
  assertEquals(await act("account-disable", { account: self }), 409);
  assertEquals(await act("account-roles", { account: self, roles: [] }), 409);

  const { body: { entries } } = await ask(`${place}/report/audit`, { token });
  const shown = entries.toReversed().map(({ path, target, user }: Record<string, string>) => {
    assertEquals(user, self);
    return [path, target];
  });
  assertEquals(shown, [
    ["/action/account-end-session", account],
    ["/action/account-roles", account],
    ["/action/account-end-sessions", account],
    ["/action/account-disable", account],
    ["/action/account-enable", account],
    ["/action/key-revoke", key.id],
  ]);
});

for (const users of ["kv", undefined] as const) {
  Deno.test(`10,000 accounts are paged and searched, odd ids are unknown (${users ?? "table"})`, async () => {
    // On this machine and without roles, everyone is an administrator.
    await using site = await openSite(users, true);
    const { ask, db, kv } = site;
    for (let start = 0; start < 10_000; start += 500) {
      const numbers = Array.from({ length: 500 }, (_, index) => start + index);
      const id = (number: number) => `n${String(number).padStart(5, "0")}`;
      if (users === "kv") {
        await kv.commit({
          mutations: numbers.map((number) => ({
            kind: "set",
            key: ["account", id(number)],
            value: {
              ...{ id: id(number), email: `n${number}@example.com`, name: `N ${number}` },
              ...{ roles: [], passwordHash: "xyz", isDisabled: false },
            },
          })),
        });
      } else {
        const rows = JSON.stringify(numbers.map((number) => [id(number), number]));
        await db.sql`INSERT INTO users (id, email, name, password_hash, roles, disabled, created_at)
          SELECT value ->> 0, 'n' || (value ->> 1) || '@example.com', 'N ' || (value ->> 1), 'xyz',
            '[]', 0, '2026-01-01T00:00:00.000Z' FROM json_each(${rows})`;
      }
    }
    const list = async (query: Record<string, string>) => {
      const text = new URLSearchParams(query).toString();
      return await ask(`${place}/report/accounts?${text}`);
    };
    const seen = new Set<string>();
    let after: string | null = "";
    for (let pages = 0; after !== null && pages < 300; pages++) {
      const { status, body }: Answer = await list({ after });
      assertEquals(status, 200);
      assert(body.accounts.length <= 50);
      for (const { id } of body.accounts) seen.add(id);
      after = body.next;
    }
    assertEquals([seen.size, after], [10_004, null]);
    // A search reads a limited number of accounts for each request.
    const first = await list({ search: "N 9999" });
    assertEquals(first.body.accounts.length, 0);
    const more = await list({ search: "N 9999", after: first.body.next });
    const rest = await list({ search: "N 9999", after: more.body.next ?? "n09998" });
    const found = [...more.body.accounts, ...rest.body.accounts].map(({ id }) => id);
    assertEquals(found.includes("n09999"), true);
    assertEquals((await list({ search: "UMA@example.com" })).body.accounts.length, 1);

    for (const id of ["", "nobody", "' OR 1=1", "\0", "a/b", "é", "..", "x".repeat(501), "%"]) {
      const path = `${place}/report/account?${new URLSearchParams({ id })}`;
      assertEquals((await ask(path)).status, id === "" ? 400 : 404, id);
    }
    for (const account of ["\ud800", "\0", "x".repeat(501), "nobody"]) {
      const answer = await ask(`${place}/action/account-disable`, { body: { account } });
      assertEquals(answer.status, 404);
    }
    for (const body of [{ account: 7 }, {}, { account: "" }, []]) {
      const { status } = await ask(`${place}/action/account-disable`, { body });
      assertEquals(status, 400);
    }
    assertEquals((await list({ after: "\0" })).status, 400);
  });
}

Deno.test("a read-only dashboard shows accounts, and changes none", async () => {
  await using site = await openSite("kv", { readOnly: true });
  const { ask, person } = site;
  const account = person("uma").id;
  assertEquals((await ask(`${place}/report/accounts`)).body.accounts.length, 4);
  for (const action of actions) {
    const { status } = await ask(`${place}/action/${action}`, { body: { account, key: "k" } });
    assertEquals(status, 403, action);
  }
});

Deno.test("an integer key of accounts refuses other ids, and missing columns are named", async () => {
  const people = table("people", {
    id: integer().primaryKey(),
    ...{ email: text().notNull().unique(), passwordHash: text().notNull() },
  });
  const db = await openDatabase("sqlite::memory:");
  await db.createTables([notes, people]);
  await db.sql`INSERT INTO people (id, email, passwordHash) VALUES (1, 'a@example.com', 'x')`;
  const app = await createApp({
    ...{ db, kv: ":memory:", adminUI: true, secret: "a secret for the tests only" },
    runtime: systemRuntime(() => {}),
    auth: { use: [passwordAuth({ users: people, signup: false, passwordReset: false })] },
    resources: [resource(notes, { id: notes.id, auth: { public: { read: true } } })],
  });
  try {
    const ask = async (path: string, body?: object) => {
      const init = body === undefined
        ? {}
        : { method: "POST", body: JSON.stringify(body), headers: json };
      const request = new Request(`http://localhost${place}${path}`, init);
      const response = await app.fetch(request, { remoteAddr: { hostname: "127.0.0.1" } });
      await response.body?.cancel();
      return response.status;
    };
    assertEquals(await ask("/report/account?id=1"), 200);
    for (const id of ["x", "1.5", "1e0", "99999999999999999999", "0x1"]) {
      assertEquals(await ask(`/report/account?id=${id}`), 404, id);
    }
    assertEquals(await ask("/action/account-disable", { account: "1" }), 422);
    assertEquals(await ask("/action/account-roles", { account: "1", roles: ["a"] }), 422);
  } finally {
    await app.close();
    await db.close();
  }
});

const json = { "content-type": "application/json" };
