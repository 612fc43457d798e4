import { assert, assertEquals, assertNotEquals } from "@std/assert";
import { type KeyValue, StoreError } from "../../exports/kv.ts";
import { Sessions } from "../../src/identity/sessions/sessions.ts";
import { handClock } from "../db/hand_clock.ts";
import { createMemoryKeyValue } from "../../src/kv/memory_key_value.ts";
import { systemRuntime } from "../../src/runtime/system_runtime.ts";
import { usersTable } from "../../exports/auth.ts";
import { ada, ownPage, password, withAccounts } from "./accounts_support.ts";

const hour = 3_600_000;
const day = 24 * hour;

Deno.test("a session ends when it is not used for idleMs, and after maxMs however much it is used", async () => {
  const sessions = { idleMs: hour, maxMs: 5 * hour };
  await withAccounts({ sessions }, async ({ signUp, logIn, send, advance }) => {
    await signUp();
    const statusOf = async (cookie: string) =>
      (await send("GET", "/api/notes", undefined, { headers: { cookie } })).status;
    const [idle, used] = [await logIn(), await logIn()];
    for (let minutes = 0; minutes < 4 * 60 + 50; minutes += 50) {
      assertEquals(await statusOf(used), 200, `after ${minutes} minutes`);
      advance(50 * 60_000);
    }
    assertEquals(await statusOf(idle), 401);
    assertEquals(await statusOf(used), 401, "after five hours");
  }, { movesClock: true });
});

Deno.test("a cookie without a name, which another host may have set, ends no session", async () => {
  await withAccounts({}, async ({ signUp, logIn, send }) => {
    await signUp();
    const cookie = await logIn();
    for (const all of [cookie, `=x; ${cookie}`, `; ${cookie}`, `a; ${cookie} ; b=`]) {
      const { status } = await send("GET", "/api/notes", undefined, { headers: { cookie: all } });
      assertEquals([all, status], [all, 200]);
    }
  });
});

Deno.test("the cookie lasts as long as the session at most, and no script or other host reads it", async () => {
  const sessions = { idleMs: hour, maxMs: 30 * day };
  await withAccounts({ sessions }, async ({ signUp, post }) => {
    await signUp();
    const cookieAt = async (host: string, headers = {}) =>
      (await post("/api/auth/login", ada, { host, headers })).headers.get("set-cookie")
        ?.replace(/ses_[\w-]+/, "…");
    const attributes = "HttpOnly; Max-Age=2592000; SameSite=Lax; Path=/";
    assertEquals(await cookieAt("localhost"), `session=…; ${attributes}`);
    assertEquals(await cookieAt("127.0.0.1:8000"), `session=…; ${attributes}`);
    const secure = `__Host-session=…; Secure; ${attributes}`;
    assertEquals(await cookieAt("api.example.com"), secure);
    // The Host of the request counts, as behind a proxy.
    assertEquals(await cookieAt("127.0.0.1", { host: "api.example.com" }), secure);
  }, { movesClock: true });
});

Deno.test("a cookie without the prefix is not taken where the cookie has it", async () => {
  await withAccounts({}, async ({ signUp, logIn, send }) => {
    await signUp();
    const token = (await logIn()).replace("session=", "");
    const userAt = async (host: string, cookie: string) =>
      (await send("GET", "/api/auth/me", undefined, { host, headers: { cookie } })).body.user
        ?.email;
    assertEquals(await userAt("api.example.com", `__Host-session=${token}`), ada.email);
    assertEquals(await userAt("api.example.com", `session=${token}`), undefined);
    assertEquals(await userAt("localhost", `theme=dark; session=${token}; x=y`), ada.email);
  });
});

Deno.test("a login gives a new session, and ends the one that the request has: none can be fixed", async () => {
  await withAccounts({}, async ({ signUp, logIn, post, send }) => {
    await signUp();
    const other = { email: "eve@example.com", password: "the password of an attacker" };
    await signUp(other);
    const planted = await logIn(other);
    const login = await post("/api/auth/login", ada, { headers: ownPage(planted) });
    const fresh = login.headers.get("set-cookie")?.split(";")[0] ?? "";
    assertNotEquals(fresh, planted);
    const userOf = async (cookie: string) =>
      (await send("GET", "/api/auth/me", undefined, { headers: { cookie } })).body.user?.email;
    assertEquals([await userOf(planted), await userOf(fresh)], [undefined, ada.email]);
    // A text that is no session of this service is never made one.
    const madeUp = `session=ses_${"A".repeat(43)}`;
    const again = await post("/api/auth/login", ada, { headers: ownPage(madeUp) });
    assert(!again.headers.get("set-cookie")?.includes("ses_AAAA"));
    assertEquals(await userOf(madeUp), undefined);
  });
});

Deno.test("a logout ends this session, a logout everywhere all of the user, and none of another", async () => {
  await withAccounts({}, async ({ signUp, logIn, post, send, advance }) => {
    const eve = { email: "eve@example.com", password: "the password of another" };
    await signUp();
    await signUp(eve);
    const [first, second, third, hers] = [
      await logIn(),
      await logIn(),
      await logIn(),
      await logIn(eve),
    ];
    const statuses = async () => {
      // What was read before is trusted for five seconds.
      advance(5_000);
      const all = [first, second, third, hers].map((cookie) =>
        send("GET", "/api/notes", undefined, { headers: { cookie } })
      );
      return (await Promise.all(all)).map(({ status }) => status);
    };
    assertEquals(await statuses(), [200, 200, 200, 200]);
    await post("/api/auth/logout", undefined, { headers: ownPage(first) });
    assertEquals(await statuses(), [401, 200, 200, 200]);
    const everywhere = await post("/api/auth/logout/all", undefined, { headers: ownPage(second) });
    assertEquals(everywhere.status, 204);
    assertEquals(await statuses(), [401, 401, 401, 200]);
    assertEquals(
      (await post("/api/auth/logout/all", undefined, { headers: ownPage(second) })).status,
      401,
    );
    assertEquals((await post("/api/auth/logout", undefined)).status, 204);
  }, { movesClock: true });
});

Deno.test("a logout is in effect at once in the process that it was sent to", async () => {
  await withAccounts({}, async ({ signUp, logIn, post, send }) => {
    await signUp();
    const cookie = await logIn();
    const status = async () =>
      (await send("GET", "/api/notes", undefined, { headers: { cookie } })).status;
    assertEquals(await status(), 200);
    await post("/api/auth/logout", undefined, { headers: ownPage(cookie) });
    assertEquals(await status(), 401);
  }, { movesClock: true });
});

Deno.test("new roles and a disabled account are seen within recheckMs, without another login", async () => {
  await withAccounts({}, async ({ signUp, logIn, send, advance, db }) => {
    await signUp();
    const cookie = await logIn();
    const me = async () =>
      (await send("GET", "/api/auth/me", undefined, { headers: { cookie } })).body.user?.roles;
    assertEquals(await me(), []);
    await db.sql`UPDATE ${usersTable} SET ${usersTable.roles} = ${["editor"]}`;
    assertEquals(await me(), [], "trusted for now");
    advance(5_000);
    assertEquals(await me(), ["editor"]);
    await db.sql`UPDATE ${usersTable} SET ${usersTable.disabled} = ${true}`;
    advance(5_000);
    assertEquals(await me(), undefined);
  }, { movesClock: true });
});

Deno.test("a stream that is open does not keep a session from being idle, nor hides its use", async () => {
  const hand = handClock();
  const clock = { ...hand.clock, now: () => 1_800_000_000_000 + hand.clock.now() };
  const account = { ...ada, id: "1", name: null, roles: [], isDisabled: false, passwordHash: "x" };
  const sessions = new Sessions({
    store: createMemoryKeyValue(clock),
    findAccount: () => Promise.resolve(account),
    ...{ idleMs: hour, maxMs: 10 * hour, recheckMs: 5_000 },
    runtime: { ...systemRuntime(() => {}), clock },
  });
  const [used, idle] = [await sessions.begin(account), await sessions.begin(account)];
  const streamOf = async ({ token }: typeof used) => await sessions.identify(token);
  const streams = [await streamOf(used), await streamOf(idle)];
  const states: unknown[] = [];
  for (let minutes = 0; minutes < 90; minutes += 1) {
    // A request of the one, and both streams, between whose rechecks it comes.
    await sessions.identify(used.token);
    states.push(...await Promise.all(streams.map((stream) => stream?.renew?.())));
    hand.advance(60_000);
  }
  const [ofUsed, ofIdle] = [0, 1].map((which) => states.filter((_, at) => at % 2 === which));
  assertEquals(ofUsed?.every((user) => user === streams[0]?.user), true);
  assertEquals(ofIdle?.indexOf(null), 60, "after an hour");
});

Deno.test("a request with a session that is known reads neither the store nor the table", async () => {
  await withAccounts({}, async ({ signUp, logIn, send, db }) => {
    await signUp();
    const cookie = await logIn();
    const me = () => send("GET", "/api/auth/me", undefined, { headers: { cookie } });
    await me();
    let reads = 0;
    const { query } = db.driver;
    Object.defineProperty(db.driver, "query", {
      value: (...args: Parameters<typeof query>) => {
        reads++;
        return query.apply(db.driver, args);
      },
      configurable: true,
    });
    for (let request = 0; request < 100; request++) assertEquals((await me()).status, 200);
    assertEquals(reads, 0);
  }, { movesClock: true });
});

Deno.test("while the store does not answer, a session that is trusted works, and others are 503", async () => {
  const kv = createMemoryKeyValue(systemRuntime(() => {}).clock);
  let isDown = false;
  const store: KeyValue = {
    ...kv,
    get: (key) =>
      isDown ? Promise.reject(new StoreError("unavailable", new Error("down"))) : kv.get(key),
  };
  await withAccounts({}, async ({ signUp, logIn, send, post, advance }) => {
    await signUp();
    const [known, unknown] = [await logIn(), await logIn()];
    const ask = async (cookie: string) => {
      const answer = await send("GET", "/api/notes", undefined, { headers: { cookie } });
      return [answer.status, answer.body.code ?? null];
    };
    assertEquals(await ask(known), [200, null]);
    isDown = true;
    assertEquals(await ask(known), [200, null]);
    assertEquals(await ask(unknown), [503, "STORE_UNAVAILABLE"]);
    advance(5_000);
    assertEquals(await ask(known), [503, "STORE_UNAVAILABLE"]);
    // A page must not take a failure for a logout.
    const me = await send("GET", "/api/auth/me", undefined, { headers: { cookie: known } });
    assertEquals(me.status, 503);
    assertEquals((await send("GET", "/api/auth/me")).body, { user: null });
    assertEquals((await post("/api/auth/login", ada)).status, 503);
    isDown = false;
    assertEquals([await ask(known), await ask(unknown)], [[200, null], [200, null]]);
  }, { config: { kv: store }, movesClock: true });
});

Deno.test("texts that are no tokens are not looked up: malformed, too long, of another kind", async () => {
  await withAccounts({}, async ({ signUp, logIn, send }) => {
    await signUp();
    const token = (await logIn()).replace("session=", "");
    const wrong = [
      token.slice(0, -1),
      `${token}A`,
      `${token.slice(0, -1)}${token.endsWith("A") ? "B" : "A"}`,
      token.toUpperCase(),
      `ses_${"x".repeat(1_000_000)}`,
      "ses_",
      `ses_${"=".repeat(43)}`,
    ];
    for (const text of wrong) {
      const headers = { authorization: `Bearer ${text}` };
      const answer = await send("GET", "/api/notes", undefined, { headers });
      assertEquals(
        [answer.status, answer.headers.get("www-authenticate")],
        [401, "Bearer"],
        text.slice(0, 60),
      );
    }
    // Anything else as the cookie is wrong, too: it has the name of ours.
    const headers = { cookie: "session=x" };
    const answer = await send("GET", "/api/notes", undefined, { headers });
    assertEquals(answer.status, 401);
    assert(answer.headers.get("set-cookie")?.startsWith("session=; HttpOnly; Max-Age=0"));
  });
});

Deno.test("the password is compared after the session of a change was checked, which a stranger lacks", async () => {
  await withAccounts({}, async ({ signUp, post }) => {
    await signUp();
    const body = { currentPassword: password, password: "a new and better password" };
    assertEquals((await post("/api/auth/password/change", body)).status, 401);
  });
});
