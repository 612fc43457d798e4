import { assert, assertEquals, assertNotEquals, assertRejects } from "@std/assert";
import { boolean, integer, openDatabase, table, text } from "../../mod.ts";
import { usersTable } from "../../exports/auth.ts";
import { testOnEveryEngine } from "../support/http.ts";
import { scratchFolder } from "../support/scratch.ts";
import {
  type AccountsUnderTest,
  ada,
  afterBackgroundTasks,
  ownPage,
  password,
  untilMailed,
  withAccounts,
} from "./accounts_support.ts";

testOnEveryEngine("a user signs up, logs in, writes, and logs out", async (engine) => {
  await withAccounts({}, async ({ post, send, mails, token, logIn, db }) => {
    const signup = await post("/api/auth/signup", {
      ...ada,
      email: " Ada@Example.COM",
      name: "Ada",
    });
    assertEquals([signup.status, signup.body], [202, { next: "verify-email" }]);
    await untilMailed(mails, 1);
    const [mail] = mails;
    assertEquals([mail?.kind, mail?.user], ["verify-email", { email: ada.email, name: "Ada" }]);
    assertEquals((await post("/api/auth/login", ada)).status, 401, "before the link is followed");
    assertEquals((await post("/api/auth/verify", { token: token(), password })).status, 200);

    const cookie = await logIn();
    const me = await send("GET", "/api/auth/me", undefined, { headers: { cookie } });
    const { id } = me.body.user;
    assertEquals(me.body, { user: { id, email: ada.email, name: "Ada", roles: [] } });
    assertEquals(me.headers.get("cache-control"), "no-store");
    const created = await post("/api/notes", { title: "Tea" }, { headers: ownPage(cookie) });
    assertEquals([created.status, created.body.ownerId], [201, id]);
    assertEquals(
      (await db.sql`SELECT ${usersTable.passwordHash} FROM ${usersTable}`).rows.length,
      1,
    );

    const out = await post("/api/auth/logout", undefined, { headers: ownPage(cookie) });
    assertEquals([out.status, out.headers.get("set-cookie")?.includes("Max-Age=0")], [204, true]);
    const after = await send("GET", "/api/notes", undefined, { headers: { cookie } });
    assertEquals([after.status, after.body.code], [401, "UNAUTHORIZED"]);
    assertEquals((await send("GET", "/api/auth/me", undefined, { headers: { cookie } })).body, {
      user: null,
    });
  }, { db: await engine.open() });
});

Deno.test("the accounts of the key-value store work as those of a table do", async () => {
  await withAccounts({ users: "kv" }, async ({ post, send, mails, signUp, logIn }) => {
    await signUp();
    const cookie = await logIn();
    const me = await send("GET", "/api/auth/me", undefined, { headers: { cookie } });
    assertEquals(me.body.user.email, ada.email);
    const sent = mails.length;
    await post("/api/auth/signup", { ...ada, password: "another long enough password" });
    await untilMailed(mails, sent + 1);
    assertEquals(mails.at(-1)?.kind, "account-exists");
    assertEquals((await post("/api/auth/login", ada)).status, 200, "the password is the first one");
  });
});

testOnEveryEngine("accounts may be the rows of a table of the deployer's", async (engine) => {
  const members = table("members", {
    number: integer().primaryKey(),
    mail: text().notNull().unique(),
    secret: text().notNull().as("password_secret"),
    role: text(),
    blocked: boolean().notNull().default(false),
    points: integer().notNull().default(7),
  });
  const db = await engine.open();
  await db.createTables([members]);
  const users = {
    table: members,
    columns: {
      email: members.mail,
      passwordHash: "secret",
      roles: members.role,
      disabled: members.blocked,
    },
  };
  await withAccounts({ users, signup: { roles: ["member"] } }, async ({ signUp, logIn, send }) => {
    await signUp();
    const cookie = await logIn();
    const me = await send("GET", "/api/auth/me", undefined, { headers: { cookie } });
    assertEquals(me.body.user, { id: "1", email: ada.email, name: null, roles: ["member"] });
    const { rows } = await db.sql`SELECT ${members.mail}, ${members.points} FROM ${members}`;
    assertEquals(rows, [{ mail: ada.email, points: 7 }]);
    await db.sql`UPDATE ${members} SET ${members.blocked} = ${true}`;
    await assertLoginRefused(() => logIn());
  }, { db });
});

testOnEveryEngine("an account without a role has the default of its column", async (engine) => {
  const clerks = table("clerks", {
    id: integer().primaryKey(),
    email: text().notNull(),
    passwordHash: text().notNull(),
    role: text({ enum: ["clerk", "boss"] }).notNull().default("clerk"),
  });
  const users = { table: clerks, columns: { roles: clerks.role } };
  const opened = async () => {
    const db = await engine.open();
    await db.createTables([clerks]);
    return { db };
  };
  const admins = { users, signup: { roles: ["admin"] } };
  const none = () => Promise.resolve();
  await assertRejects(
    async () => await withAccounts(admins, none, await opened()),
    Error,
    'Cannot start: passwordAuth.users: "clerks.role" does not take the role "admin": it must be ' +
      "one of: clerk, boss (signup.roles)",
  );
  await withAccounts({ users }, async ({ signUp, logIn, send }) => {
    await signUp();
    const me = await send("GET", "/api/auth/me", undefined, {
      headers: { cookie: await logIn() },
    });
    assertEquals(me.body.user.roles, ["clerk"]);
  }, await opened());
});

for (const scheme of ["sqlite", "node-sqlite"]) {
  Deno.test(`a signup does not replace an account by ON CONFLICT REPLACE (${scheme})`, async () => {
    const db = await openDatabase(`${scheme}::memory:`);
    const text =
      `CREATE TABLE people (id INTEGER PRIMARY KEY, email TEXT UNIQUE ON CONFLICT REPLACE,
      passwordHash TEXT NOT NULL)`;
    await db.query({ text, values: [] });
    const { tables: [people] } = await db.introspect();
    assert(people !== undefined);
    const signup = { verify: false };
    await withAccounts({ users: people, signup }, async ({ post }) => {
      const statusOf = async () => (await post("/api/auth/signup", ada)).status;
      assertEquals([await statusOf(), await statusOf()], [201, 409]);
      const { rows } = await db.query({ text: "SELECT id FROM people", values: [] });
      assertEquals(rows, [[1]]);
    }, { db });
  });
}

Deno.test("a table whose accounts must have a role, without a default, fails the start", async () => {
  const strict = table("strict", {
    id: integer().primaryKey(),
    email: text().notNull(),
    passwordHash: text().notNull(),
    roles: text().notNull(),
  });
  const db = await openDatabase("sqlite::memory:");
  await db.createTables([strict]);
  await assertRejects(
    () => withAccounts({ users: strict }, () => Promise.resolve(), { db }),
    Error,
    'Cannot start: passwordAuth.users: "strict.roles" needs a role (signup.roles)',
  );
});

async function assertLoginRefused(logIn: () => Promise<unknown>): Promise<void> {
  const outcome = await logIn().catch((error) => String(error));
  assert(String(outcome).includes("401"), String(outcome));
}

Deno.test("a table that cannot hold accounts fails the start, and the message names the column", async () => {
  const start = async (users: Parameters<typeof withAccounts>[0]["users"]) => {
    const outcome = withAccounts({ users }, () => Promise.resolve(), { db: await withTables() });
    return await outcome.then(() => "started", (error) => error.message);
  };
  const noMail = table("no_mail", { id: text().primaryKey(), passwordHash: text() });
  const strict = table("strict", {
    id: text().primaryKey(),
    email: text().notNull(),
    passwordHash: text().notNull(),
    country: text().notNull(),
  });
  const wrongKind = table("wrong_kind", {
    id: text().primaryKey(),
    email: integer().notNull(),
    passwordHash: text().notNull(),
  });
  const withTables = async () => {
    const db = await openDatabase("sqlite::memory:");
    await db.createTables([noMail, strict, wrongKind]);
    return db;
  };
  assertEquals(
    await start(noMail),
    'Cannot start: passwordAuth.users: "no_mail" has no column "email": name it in users.columns.email',
  );
  assertEquals(
    await start(strict),
    'Cannot start: passwordAuth.users: a signup cannot fill "strict.country": give it a default, ' +
      "or set signup: false",
  );
  assertEquals(
    await start(wrongKind),
    'Cannot start: passwordAuth.users: "wrong_kind.email" is of kind integer, and email needs text',
  );
  assertEquals(
    await start({ table: noMail, columns: { email: "mail" } }),
    'Cannot start: passwordAuth.users: "no_mail" has no column "mail"',
  );
});

Deno.test("a session may be a token in the body instead of a cookie, and never is both", async () => {
  await withAccounts({}, async ({ signUp, post, send }) => {
    await signUp();
    const login = await post("/api/auth/login", { ...ada, transport: "bearer" });
    const { token } = login.body;
    assertEquals([login.headers.get("set-cookie"), /^ses_[\w-]{43}$/.test(token)], [null, true]);
    const headers = { authorization: `Bearer ${token}` };
    // A browser adds no bearer token by itself: no origin is needed.
    assertEquals((await post("/api/notes", { title: "Tea" }, { headers })).status, 201);
    assertEquals((await post("/api/auth/logout", undefined, { headers })).status, 204);
    const after = await send("GET", "/api/notes", undefined, { headers });
    assertEquals([after.status, after.headers.get("www-authenticate")], [401, "Bearer"]);
  });
});

Deno.test("a forgotten password is replaced by a link that is good once", async () => {
  await withAccounts({}, async ({ signUp, logIn, post, send, mails, token }) => {
    await signUp();
    const cookie = await logIn();
    await post("/api/auth/password/forgot", { email: ada.email });
    await untilMailed(mails, 2);
    assertEquals(mails.at(-1)?.kind, "reset-password");
    assert(mails.at(-1)?.link?.startsWith("https://page.test/reset#token=reset_"));
    const link = token();
    const next = "a new and better password";
    assertEquals(
      (await post("/api/auth/password/reset", { token: link, password: next })).status,
      200,
    );
    await untilMailed(mails, 3);
    assertEquals([mails.at(-1)?.kind, mails.at(-1)?.link], ["password-changed", null]);
    const again = await post("/api/auth/password/reset", { token: link, password: next });
    assertEquals([again.status, again.body.details.errors[0].path], [422, "token"]);
    assertEquals((await post("/api/auth/login", ada)).status, 401);
    assertEquals((await post("/api/auth/login", { ...ada, password: next })).status, 200);
    // Read again at most five seconds later; a session that was not cached is dead at once.
    const old = await send("GET", "/api/notes", undefined, { headers: { cookie } });
    assertEquals(old.status, 401, "the reset has ended the session");
  });
});

Deno.test("a link to reset a password is of no use once the password was changed otherwise", async () => {
  await withAccounts({}, async ({ signUp, logIn, post, mails, token }) => {
    await signUp();
    const cookie = await logIn();
    await post("/api/auth/password/forgot", { email: ada.email });
    await untilMailed(mails, 2);
    const link = token();
    const body = { currentPassword: password, password: "a new and better password" };
    const changed = await post("/api/auth/password/change", body, { headers: ownPage(cookie) });
    assertEquals(changed.status, 200);
    const late = await post("/api/auth/password/reset", { token: link, password });
    assertEquals(late.status, 422);
  });
});

Deno.test("of twenty resets with one link at once, one succeeds", async () => {
  await withAccounts({}, async ({ signUp, post, mails, token }) => {
    await signUp();
    await post("/api/auth/password/forgot", { email: ada.email });
    await untilMailed(mails, 2);
    const body = (index: number) => ({
      token: token(),
      password: `a new password, number ${index}`,
    });
    const answers = await Promise.all(
      Array.from(
        { length: 20 },
        (_, index) =>
          post("/api/auth/password/reset", body(index), { address: `192.0.2.${index + 10}` }),
      ),
    );
    assertEquals(answers.filter(({ status }) => status === 200).length, 1);
    assertEquals(answers.filter(({ status }) => status === 422).length, 19);
  });
});

Deno.test("a password is changed with the current one, and this client continues with a new session", async () => {
  await withAccounts({}, async ({ signUp, logIn, post, send }) => {
    await signUp();
    const [cookie, other] = [await logIn(), await logIn()];
    const next = "a new and better password";
    const change = (currentPassword: string) =>
      post("/api/auth/password/change", { currentPassword, password: next }, {
        headers: ownPage(cookie),
      });
    assertEquals((await change("not the current password")).status, 403);
    const changed = await change(password);
    const fresh = changed.headers.get("set-cookie")?.split(";")[0] ?? "";
    assertEquals(changed.status, 200);
    assertNotEquals(fresh, cookie);
    const statusOf = async (cookie: string) =>
      (await send("GET", "/api/notes", undefined, { headers: { cookie } })).status;
    assertEquals([await statusOf(cookie), await statusOf(other), await statusOf(fresh)], [
      401,
      401,
      200,
    ]);
  });
});

Deno.test("of twenty changes of a password at once, one succeeds", async () => {
  await withAccounts({}, async ({ signUp, post }) => {
    await signUp();
    const { token } = (await post("/api/auth/login", { ...ada, transport: "bearer" })).body;
    const answers = await Promise.all(
      Array.from({ length: 20 }, (_, index) =>
        post("/api/auth/password/change", {
          currentPassword: password,
          password: `a new password, number ${index}`,
        }, { headers: { authorization: `Bearer ${token}` }, address: `192.0.2.${index + 10}` })),
    );
    assertEquals(answers.filter(({ status }) => status === 200).length, 1);
    const refused = answers.map(({ status }) => status).filter((status) => status !== 200);
    // Who comes later finds the old password wrong, or has no session any more.
    assert(refused.every((status) => [401, 403, 409].includes(status)), refused.join());
  });
});

Deno.test("new passwords are long, no repetition, not the address, and not in the deployer's list", async () => {
  const refuse = (given: string) => given.includes("leaked") ? "is in a list of leaked ones" : null;
  const options = { passwords: { minLength: 12, refuse } };
  await withAccounts({ ...options }, async ({ post, mails }) => {
    const cases: readonly (readonly [string, string])[] = [
      ["short one", "has fewer than 12 characters"],
      ["abababababababab", "has fewer than 5 different characters"],
      ["ada@example.com 1", "holds the e-mail address"],
      ["this was leaked once", "is in a list of leaked ones"],
      ["x".repeat(257), "has more than 256 characters"],
    ];
    for (const [given, message] of cases) {
      const answer = await post("/api/auth/signup", { ...ada, password: given });
      assertEquals([answer.status, answer.body.details.errors], [422, [{
        path: "password",
        message,
      }]]);
      assert(!JSON.stringify(answer.body).includes(given), "the password is not repeated");
    }
    // Twelve characters of any script, and spaces.
    assertEquals(
      (await post("/api/auth/signup", { ...ada, password: "ἀρχὴ ἥμισυ π" })).status,
      202,
    );
    await untilMailed(mails, 1);
  });
});

Deno.test("the same characters, typed in another way, are the same password", async () => {
  const typed = "Ａ pass\u0065\u0301 composed phrase";
  await withAccounts({}, async ({ signUp, post }) => {
    await signUp({ email: ada.email, password: typed });
    const other = typed.normalize("NFKC");
    assertNotEquals(other, typed);
    assertEquals(
      (await post("/api/auth/login", { email: ada.email, password: other })).status,
      200,
    );
  });
});

Deno.test("bodies that are wrong are 400, 413, 415 and 422, and name the member", async () => {
  await withAccounts({}, async ({ post, send }) => {
    const login = (body: unknown, headers = {}) => post("/api/auth/login", body, { headers });
    const status = async (body: unknown, headers = {}) => (await login(body, headers)).status;
    assertEquals(await status("{"), 400);
    assertEquals(await status("[]"), 400);
    assertEquals(await status("{}"), 422);
    assertEquals(await status(`"${"x".repeat(2 * 1024 * 1024)}"`), 413);
    assertEquals(
      await status("email=ada", { "content-type": "application/x-www-form-urlencoded" }),
      415,
    );
    assertEquals(await status(JSON.stringify(ada), { "content-type": "text/plain" }), 415);
    const wrong = await login({ email: "no address", password: 7, transport: "x" });
    assertEquals(wrong.body.details.errors.map(({ path }: { path: string }) => path), [
      "email",
      "password",
      "transport",
    ]);
    const wrongMethod = await send("GET", "/api/auth/login");
    assertEquals([wrongMethod.status, wrongMethod.headers.get("allow")], [405, "POST"]);
    const zero = await login({ ...ada, password: `${password}\0` });
    assertEquals([zero.status, zero.body.details.errors[0].path], [422, "password"]);
    assertEquals(
      (await post("/api/auth/signup", { ...ada, email: `${"a".repeat(300)}@b.c` })).status,
      422,
    );
  });
});

Deno.test("signup and resets can be switched off, and then are not there", async () => {
  await withAccounts({ signup: false, passwordReset: false }, async ({ post }) => {
    for (const path of ["/signup", "/verify", "/password/forgot", "/password/reset"]) {
      assertEquals((await post(`/api/auth${path}`, {})).status, 404, path);
    }
  });
});

Deno.test("no stranger can prepare an account for the address of another", async () => {
  await withAccounts({}, async ({ post, mails, token }) => {
    await post("/api/auth/signup", { ...ada, password: "the password of an attacker" });
    await untilMailed(mails, 1);
    const link = token();
    await post("/api/auth/signup", ada);
    await untilMailed(mails, 2);
    assertEquals((await post("/api/auth/verify", { token: token(), password })).status, 200);
    // The account has the password of the signup whose link was followed, and the other link is dead.
    assertEquals((await post("/api/auth/login", ada)).status, 200);
    assertEquals((await post("/api/auth/verify", { token: link, password })).status, 422);
    const attacker = { ...ada, password: "the password of an attacker" };
    assertEquals((await post("/api/auth/login", attacker)).status, 401);
  });
});

Deno.test("an account is at once in use where addresses are not verified", async () => {
  await withAccounts({ signup: { verify: false, roles: ["new"] } }, async ({ post, mails }) => {
    const first = await post("/api/auth/signup", { ...ada, transport: "bearer" });
    assertEquals([first.status, first.body.user.roles], [201, ["new"]]);
    assert(first.body.token.startsWith("ses_"));
    assertEquals((await post("/api/auth/signup", ada)).status, 409);
    await afterBackgroundTasks();
    assertEquals(mails, []);
  });
});

Deno.test("the cost of a hash is raised at the next login", async () => {
  await using folder = await scratchFolder();
  const open = () => openDatabase(`sqlite:${folder.path}/users.db`);
  const costIn = async ({ db }: AccountsUnderTest) => {
    const { rows } = await db.sql`SELECT ${usersTable.passwordHash} FROM ${usersTable}`;
    return String(rows[0]?.["passwordHash"]).split("$")[2];
  };
  await withAccounts({}, async (service) => {
    await service.signUp();
    assertEquals(await costIn(service), "ln=12,r=8,p=1");
  }, { db: await open() });
  const passwords = { scrypt: { N: 8_192, r: 8, p: 1 } };
  await withAccounts({ passwords }, async (service) => {
    await service.logIn();
    assertEquals(await costIn(service), "ln=13,r=8,p=1");
    await service.logIn();
  }, { db: await open() });
});

Deno.test("no secret is in an answer, an observation or the store as it is", async () => {
  await withAccounts({}, async ({ signUp, post, logIn, observations, mails, token }) => {
    await signUp();
    const cookie = await logIn();
    await post("/api/auth/password/forgot", { email: ada.email });
    await untilMailed(mails, 2);
    const link = token();
    const observed = Deno.inspect(observations, { depth: 9 });
    for (const secret of [password, cookie.split("=")[1] ?? "x", link]) {
      assert(!observed.includes(secret));
    }
    const wrong = await post("/api/auth/login", { ...ada, password: "a wrong secret password" });
    assert(!JSON.stringify(wrong.body).includes("a wrong secret password"));
  });
});

Deno.test("what happens to accounts is observed, without names or addresses of mail", async () => {
  await withAccounts({}, async ({ signUp, post, observations }) => {
    await signUp();
    await post("/api/auth/login", { ...ada, password: "a wrong password, certainly" });
    await post("/api/auth/login", { email: "no@example.com", password });
    await post("/api/auth/login", ada);
    const events = observations.filter(({ kind }) => kind === "account_event")
      .map((one) => [Reflect.get(one, "event"), Reflect.get(one, "user") !== null]);
    assertEquals(events, [
      ["signup", true],
      ["login-failed", true],
      ["login-failed", false],
      ["login", true],
    ]);
    assert(!JSON.stringify(observations).includes("example.com"));
  });
});
