import { assert, assertEquals } from "@std/assert";
import { openDatabase } from "../../mod.ts";
import { normalizeEmail } from "../../src/identity/signups/normalize_email.ts";
import {
  ada,
  afterBackgroundTasks,
  password,
  untilMailed,
  withAccounts,
} from "./accounts_support.ts";

/** What a browser sends. */
const page = { origin: "http://localhost" };
const strange = { ...ada, password: "the password of a stranger" };

Deno.test("a stranger used up the mails of an address, and the newest link had the stranger's password", async () => {
  for (const users of [undefined, "kv"] as const) {
    await withAccounts({ users }, async ({ post, mails }) => {
      for (let index = 0; index < 8; index++) {
        await post("/api/auth/signup", strange, { address: `198.51.100.${index}` });
      }
      await untilMailed(mails, 5);
      const own = await post("/api/auth/signup", ada, { headers: page });
      const cookie = own.headers.get("set-cookie")?.split(";")[0] ?? "";
      await untilMailed(mails, 6);
      await afterBackgroundTasks();
      assertEquals(mails.length, 6);
      const links = mails.map(({ link }) => link?.replace(/.*#token=/, "") ?? "");
      // The link proves the mailbox, and no password.
      for (const token of links) {
        assertEquals((await post("/api/auth/verify", { token })).status, 422);
        const wrong = await post("/api/auth/verify", {
          token,
          password: "another password of a user",
        });
        assertEquals(wrong.status, 422);
      }
      for (const token of links.slice(0, 5)) {
        assertEquals((await post("/api/auth/verify", { token, password })).status, 422);
      }
      // In the browser of the signup every link to the address is good.
      const [first = ""] = links;
      assertEquals(
        (await post("/api/auth/verify", { token: first }, { headers: { cookie } })).status,
        200,
      );
      assertEquals((await post("/api/auth/login", ada)).status, 200);
      assertEquals((await post("/api/auth/login", strange)).status, 401);
    });
  }
});

Deno.test("the cookie of a signup proves no other address, and is the same for a known one", async () => {
  await withAccounts({}, async ({ post, mails, signUp }) => {
    await signUp();
    const known = await post("/api/auth/signup", strange, { headers: page });
    assertEquals([known.status, known.headers.has("set-cookie")], [202, true]);
    const cookie = known.headers.get("set-cookie")?.split(";")[0] ?? "";
    const bob = { email: "bob@example.com", password };
    await post("/api/auth/signup", bob);
    await untilMailed(mails, 3);
    const token = mails.at(-1)?.link?.replace(/.*#token=/, "") ?? "";
    assertEquals((await post("/api/auth/verify", { token }, { headers: { cookie } })).status, 422);
    assertEquals((await post("/api/auth/verify", { token, password })).status, 200);
    assertEquals((await post("/api/auth/verify", { token, password })).status, 422);
  });
});

const orders = [["owner", "stranger"], ["stranger", "owner"], ["stranger"]] as const;

for (const users of [undefined, "kv"] as const) {
  for (const order of orders) {
    Deno.test(`the owner has the account by each link and means: ${order.join(", ")} signed up, ${users}`, async () => {
      for (const opened of order) {
        for (
          const means of ["cookie", "password", "stranger's password", "new password"] as const
        ) {
          const isOwn = order.some((one) => one === "owner");
          if (!isOwn && means === "cookie") continue;
          await withAccounts({ users }, async ({ post, mails }) => {
            const tokens: Record<string, string> = {};
            const cookies: Record<string, string> = {};
            for (const [index, who] of order.entries()) {
              const given = { ...who === "owner" ? ada : strange, name: who };
              const address = who === "owner" ? "192.0.2.1" : "198.51.100.1";
              const { headers } = await post("/api/auth/signup", given, { headers: page, address });
              cookies[who] = headers.get("set-cookie")?.split(";")[0] ?? "";
              await untilMailed(mails, index + 1);
              tokens[who] = mails.at(-1)?.link?.replace(/.*#token=/, "") ?? "";
            }
            const token = tokens[opened];
            const cookie = { headers: { cookie: cookies["owner"] ?? "" } };
            const other = "what the owner chooses instead";
            const statusOf = async (path: string, body: object, options = {}) =>
              (await post(`/api/auth/${path}`, body, options)).status;
            // Without the mail the stranger has only guesses, the password and the cookie.
            const guess = { token: `verify_${"A".repeat(43)}` };
            const strangers = { headers: { cookie: cookies["stranger"] ?? "" } };
            assertEquals(await statusOf("verify", guess, strangers), 422);
            assertEquals(await statusOf("password/reset", { ...guess, ...strange }), 422);
            let now = password;
            if (means === "cookie") {
              assertEquals(await statusOf("verify", { token }, cookie), 200);
            } else if (means === "stranger's password") {
              // Only who has the mailbox can do this, with a password that the stranger has said.
              const done = await statusOf("verify", { token, password: strange.password });
              assertEquals(done, opened === "stranger" ? 200 : 422);
              return;
            } else {
              const done = means === "password"
                ? await statusOf("verify", { token, password })
                : 422;
              assertEquals(done, means === "password" && opened === "owner" ? 200 : 422);
              if (done === 422) {
                now = other;
                assertEquals(await statusOf("password/reset", { token, password: "short" }), 422);
                assertEquals(await statusOf("password/reset", { token, password: other }), 200);
              }
            }
            const own = await post("/api/auth/login", { ...ada, password: now });
            assertEquals(own.status, 200, `${opened}, ${means}`);
            assertEquals(own.body.user.name, now === other ? null : "owner");
            assertEquals(await statusOf("login", strange), 401);
            // Neither link is of use any more, in any way.
            for (const used of Object.values(tokens)) {
              const { password } = strange;
              assertEquals(await statusOf("verify", { token: used, password }), 422);
              assertEquals(await statusOf("verify", { token: used }, strangers), 422);
              assertEquals(await statusOf("verify", { token: used }, cookie), 422);
              assertEquals(await statusOf("password/reset", { token: used, password }), 422);
            }
            assertEquals(await statusOf("login", { ...ada, password: now }), 200);
            assertEquals(await statusOf("login", strange), 401);
          });
        }
      }
    });
  }
}

Deno.test("another host of the site planted the cookie of a stranger's signup", async () => {
  await withAccounts({}, async ({ post, mails }) => {
    const host = "shop.example";
    const headers = { origin: "http://shop.example" };
    const { headers: set } = await post("/api/auth/signup", strange, { headers, host });
    await untilMailed(mails, 1);
    const token = mails.at(-1)?.link?.replace(/.*#token=/, "") ?? "";
    const cookie = set.get("set-cookie")?.split(";")[0] ?? "";
    assert(cookie.startsWith("__Host-signup="), cookie);
    assert(/; Secure/i.test(set.get("set-cookie") ?? ""));
    const planted = cookie.replace("__Host-", "");
    const verify = (cookie: string) =>
      post("/api/auth/verify", { token }, { headers: { ...headers, cookie }, host });
    assertEquals((await verify(planted)).status, 422);
    assertEquals((await verify(cookie)).status, 200);
  });
});

Deno.test("an account with the other spelling of its domain was not found, and had a second one", async () => {
  const unicode = "ada@m\u00fcnchen.example";
  const puny = "ada@xn--mnchen-3ya.example";
  for (const users of [undefined, "kv"] as const) {
    for (const stored of [unicode, puny]) {
      const db = await openDatabase("sqlite::memory:");
      await withAccounts({ users, signup: { verify: false } }, async ({ post }) => {
        assertEquals((await post("/api/auth/signup", { email: unicode, password })).status, 201);
        if (users === undefined) {
          await db.query({ text: "UPDATE users SET email = ?", values: [stored] });
        }
        for (const email of [unicode, puny, "ADA@M\u00dcNCHEN.example"]) {
          assertEquals((await post("/api/auth/login", { email, password })).status, 200, email);
          assertEquals((await post("/api/auth/signup", { email, password })).status, 409, email);
        }
      }, { db });
    }
  }
});

Deno.test("a user of one network had no mail where strangers of many others had signed up", async () => {
  await withAccounts({ signup: { cost: 0 } }, async ({ post, mails }) => {
    // Many addresses of one network have the mails of one, by IPv4 and by IPv6.
    for (let index = 0; index < 40; index++) {
      await post("/api/auth/signup", strange, { address: `198.51.100.${index}` });
      const group = index.toString(16);
      await post("/api/auth/signup", strange, { address: `2001:db8:77:${group}::1` });
    }
    await untilMailed(mails, 5);
    await afterBackgroundTasks();
    assertEquals(mails.length, 5);
    // Each further network has its first, up to twenty.
    for (let index = 0; index < 14; index++) {
      await post("/api/auth/signup", strange, { address: `203.0.${index}.1` });
    }
    await untilMailed(mails, 19);
    await post("/api/auth/signup", ada);
    await untilMailed(mails, 20);
    for (let index = 20; index < 30; index++) {
      await post("/api/auth/signup", strange, { address: `203.0.${index}.1` });
    }
    await afterBackgroundTasks();
    assertEquals(mails.length, 20);
  });
});

Deno.test("addresses that look alike made second accounts", () => {
  const refused = [
    "ad\u200ba@example.com",
    "ad\u00ada@example.com",
    "\u202eada@example.com",
    "ada\ufe0f@example.com",
    "ada\u{e0061}@example.com",
    "\uff41da@example.com",
    "\u0430da@example.com",
    "..ada@example.com",
    "ada.@example.com",
    "a..da@example.com",
    "ad\u0378a@example.com",
    "ada@exa\u200bmple.com",
    "ada@",
    "@example.com",
    "ada@xn--zz--.example",
    "ada@ex\u0430mple.com",
    "ada@xn--exmple-4nf.com",
    "ADA@XN--EXMPLE-4NF.com",
    "ada@\u0440\u0430\u0443pal.com",
    "ada@mail.ex\u0430mple.com",
    "ada@g\u03bfogle.com",
    "ada@\u0440\u03bf\u0430.com",
    "\u0430\u03bf@example.com",
    "ada@\u057dber.com",
  ];
  for (const one of refused) assertEquals(normalizeEmail(one), null, JSON.stringify(one));
  assertEquals(normalizeEmail("ada@xn--mnchen-3ya.example"), "ada@m\u00fcnchen.example");
  assertEquals(normalizeEmail("ada@M\u00dcNCHEN.example"), "ada@m\u00fcnchen.example");
  assertEquals(normalizeEmail(" Ada+x_y@Example.COM "), "ada+x_y@example.com");
  for (
    const domain of [
      // Labels of one script each, and Latin beside Japanese and Chinese.
      ...[
        "\u043f\u043e\u0447\u0442\u0430.\u0440\u0444",
        "\u03b1\u03b2.com",
        "mail.\u043f\u043e\u0447\u0442\u0430.com",
      ],
      ...["abc\u6771\u4eac.jp", "caf\u00e9-1.com", "b\u00fccher.example", "\u0e44\u0e17\u0e22.com"],
    ]
  ) assertEquals(normalizeEmail(`ada@${domain}`), `ada@${domain}`);
  assertEquals(normalizeEmail("\u0430\u0434\u0430@example.com"), "\u0430\u0434\u0430@example.com");
});

Deno.test("an account whose address no signup takes any more could not log in", async () => {
  const db = await openDatabase("sqlite::memory:");
  await withAccounts({ signup: { verify: false } }, async ({ post }) => {
    assertEquals((await post("/api/auth/signup", ada)).status, 201);
    for (const email of ["a..da@example.com", "\u0430da@example.com", "ada@ex\u0430mple.com"]) {
      await db.query({ text: "UPDATE users SET email = ?", values: [email] });
      assertEquals((await post("/api/auth/login", { email, password })).status, 200, email);
      assertEquals((await post("/api/auth/signup", { email, password })).status, 422, email);
    }
  }, { db });
});

Deno.test("a table `users` of another program started, and each login was a 500", async () => {
  const db = await openDatabase("sqlite::memory:");
  await db.query({
    text: "CREATE TABLE users (id integer primary key, login text, pw text)",
    values: [],
  });
  const error = await withAccounts({}, () => Promise.resolve(), { db }).catch((one) => one);
  assert(error instanceof Error);
  assert(/passwordAuth.users: "users" cannot be read.*email/.test(error.message), error.message);
});

Deno.test("right logins in parallel were refused for what the others held", async () => {
  for (const [failed, capacity, count] of [[6, 20, 8], [1, 3, 12], [20, 20, 5]] as const) {
    const config = {
      abuseProtection: {
        budget: { classes: { anonymous: { capacity, refillPerMinute: 1 } } },
      },
    };
    await withAccounts(
      { login: { cost: { failed } }, signup: { cost: 0 } },
      async ({ signUp, post }) => {
        await signUp();
        const logins = Array.from({ length: count }, () => post("/api/auth/login", ada));
        const statuses = (await Promise.all(logins)).map(({ status }) => status);
        assertEquals(statuses, Array(count).fill(200));
      },
      { config },
    );
  }
});

Deno.test("a cost of a login over the budget of these routes started", async () => {
  const start = (failed: number) =>
    withAccounts({ login: { cost: { failed } } }, () => Promise.resolve())
      .then(() => "started", (error) => error.message);
  assertEquals(await start(20), "started");
  assert(/passwordAuth\.login\.cost is 21, and the budget/.test(await start(21)));
});
