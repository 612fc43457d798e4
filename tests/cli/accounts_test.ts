import { assert, assertEquals, assertMatch } from "@std/assert";
import { openDatabase } from "../../mod.ts";
import { runChild, startChild } from "../serve/child_process.ts";
import { scratchFolder } from "../support/scratch.ts";

const cli = new URL("../../cli.ts", import.meta.url).pathname;

/** Runs a command in a folder: the exit code and both outputs. */
async function run(cwd: string, ...args: readonly string[]) {
  return await runChild([cli, ...args], { cwd });
}

async function withShop(work: (folder: string) => Promise<void>): Promise<void> {
  await using folder = await scratchFolder();
  const db = await openDatabase(`sqlite:${folder.path}/shop.db`);
  await db.query({ text: "CREATE TABLE items (id INTEGER PRIMARY KEY, name TEXT)", values: [] });
  await db.close();
  await work(folder.path);
}

Deno.test("--users: accounts of the command line log in, and write by their role", async () => {
  await withShop(async (cwd) => {
    const added = await run(cwd, "users", "add", "Ada@Example.com", "--name", "Ada");
    assertEquals(added.code, 0, added.stderr);
    assertMatch(added.stderr, /Added ada@example\.com\nIts password is shown once only:/);
    const given = added.stdout.trim();
    assertMatch(given, /^[\w-]{20}$/);
    const listed = await run(cwd, "users", "list");
    assertMatch(
      listed.stdout,
      /^id +email +name +roles\n[0-9a-f-]{36} {2}ada@example\.com {2}Ada\n$/,
    );
    assert(!listed.stdout.includes("$scrypt"));

    await using service = startChild([cli, "shop.db", "--write", "--users", "--port", "0"], {
      cwd,
    });
    const [origin = ""] = await service.printed(/http:\/\/127\.0\.0\.1:\d+/);
    assertMatch(service.stdout(), /Accounts are in service\.kv/);
    const post = (path: string, body: unknown, headers: Record<string, string> = {}) =>
      fetch(origin + path, {
        method: "POST",
        headers: { "content-type": "application/json", ...headers },
        body: JSON.stringify(body),
      });
    const user = { email: "ada@example.com", password: given, transport: "bearer" };
    const { token } = await (await post("/api/auth/login", user)).json();
    const headers = { authorization: `Bearer ${token}` };
    const statusOf = async (response: Promise<Response>) => {
      const { status, body } = await response;
      await body?.cancel();
      return status;
    };
    const create = (sent: Record<string, string>) =>
      statusOf(post("/api/items", { name: "tea" }, sent));
    const until = async (wanted: number, ask: () => Promise<number>) => {
      for (let tries = 0; await ask() !== wanted; tries++) {
        assert(tries < 200, `never ${wanted}`);
        await new Promise((resolve) => setTimeout(resolve, 100));
      }
    };
    assertEquals(await create(headers), 403, "an account without the role reads");
    assertEquals(await statusOf(post("/api/auth/signup", user)), 404);
    assertEquals((await run(cwd, "users", "role", "ada@example.com", "writer")).code, 0);
    await until(201, () => create(headers));
    const { stdout: key } = await run(cwd, "keys", "create", "--name", "ci", "--scopes", "writer");
    assertEquals(await create({ "x-api-key": key.trim() }), 201);
    const [, printed = ""] = /Bearer (t_\S+)/.exec(service.stdout()) ?? [];
    assertEquals(await create({ authorization: `Bearer ${printed}` }), 201, "the operator");
    const unused = await (await post("/api/auth/login", user)).json();
    assertEquals((await run(cwd, "users", "disable", "ada@example.com")).code, 0);
    await until(401, () => create(headers));
    assertEquals(await statusOf(post("/api/auth/login", user)), 401);
    assertEquals((await run(cwd, "users", "enable", "ada@example.com")).code, 0);
    assertEquals(await create({ authorization: `Bearer ${unused.token}` }), 401);
  });
});

Deno.test("users password and users logout end sessions, users delete also revokes keys", async () => {
  await withShop(async (cwd) => {
    const { stdout: first } = await run(
      cwd,
      "users",
      "add",
      "ada@example.com",
      "--roles",
      "writer",
    );
    const { stdout: others } = await run(cwd, "keys", "create", "--name", "ci");
    const [account] = JSON.parse((await run(cwd, "users", "list", "--json")).stdout);
    assertEquals(Object.keys(account), ["id", "email", "name", "roles", "isDisabled"]);
    const { id, email, roles } = account;
    assertEquals([email, roles], ["ada@example.com", ["writer"]]);
    const own = await run(cwd, "keys", "create", "--name", "own", "--user", id);
    await using service = startChild([cli, "shop.db", "--write", "--users", "--port", "0"], {
      ...{ cwd, maxLifeMs: 180_000 },
    });
    const [origin = ""] = await service.printed(/http:\/\/127\.0\.0\.1:\d+/);
    async function userOf(headers: Record<string, string>): Promise<string | undefined> {
      return (await (await fetch(`${origin}/api/auth/me`, { headers })).json()).user?.id;
    }
    async function login(password: string): Promise<Record<string, string>> {
      const response = await fetch(`${origin}/api/auth/login`, {
        method: "POST",
        headers: { "content-type": "application/json" },
        body: JSON.stringify({ email, password, transport: "bearer" }),
      });
      return { authorization: `Bearer ${(await response.json()).token}` };
    }
    async function untilNobody(headers: Record<string, string>): Promise<void> {
      while (await userOf(headers) !== undefined) {
        await new Promise((resolve) => setTimeout(resolve, 50));
      }
    }
    const session = await login(first.trim());
    assertEquals(await userOf(session), id);
    const changed = await run(cwd, "users", "password", email);
    assertEquals(changed.stderr.split("\n")[0], `Changed the password of ${email}`);
    await untilNobody(session);
    assertEquals(await userOf(await login(first.trim())), undefined);
    const renewed = await login(changed.stdout.trim());
    assertEquals(await userOf(renewed), id);
    assertEquals((await run(cwd, "users", "logout", email)).code, 0);
    await untilNobody(renewed);
    const key = { "x-api-key": own.stdout.trim() };
    assertEquals(await userOf(key), id);
    const deleted = await run(cwd, "users", "delete", email);
    assertEquals(
      deleted.stderr.trim(),
      `Deleted the account ${id} of ${email}; revoked API keys: 1`,
    );
    await untilNobody(key);
    assertMatch(String(await userOf({ "x-api-key": others.trim() })), /^key:/);
    assertEquals(await userOf(await login(changed.stdout.trim())), undefined);
  });
});

Deno.test("a table with the name auth had no path with --users, after the file was changed", async () => {
  await withShop(async (cwd) => {
    const db = await openDatabase(`sqlite:${cwd}/shop.db`);
    await db.query({ text: "CREATE TABLE auth (id INTEGER PRIMARY KEY, name TEXT)", values: [] });
    await db.close();
    await using service = startChild([cli, "shop.db", "--users", "--port", "0"], { cwd });
    const [origin = ""] = await service.printed(/http:\/\/127\.0\.0\.1:\d+/);
    assertEquals((await (await fetch(`${origin}/api/tables.auth`)).json()).items, []);
    assertEquals(await (await fetch(`${origin}/api/auth/me`)).json(), { user: null });
  });
});

Deno.test("a configuration has the accounts of its own table, and its own store", async () => {
  await withShop(async (cwd) => {
    const mod = new URL("../../", import.meta.url);
    await Deno.writeTextFile(
      `${cwd}/service.config.ts`,
      `import { openDatabase } from "${mod}mod.ts";
       import { passwordAuth } from "${mod}exports/auth.ts";
       export default {
         db: await openDatabase("sqlite:shop.db"),
         kv: "own.kv",
         auth: { use: [passwordAuth({ passwords: { scrypt: { N: 4096, r: 8, p: 1 } } })] },
         resources: [],
       };`,
    );
    const added = await run(cwd, "users", "add", "ada@example.com", "--roles", "a,b");
    assertEquals(added.code, 0, added.stderr);
    const key = await run(cwd, "keys", "create", "--name", "ci");
    assertEquals(key.code, 0, key.stderr);
    const names = [...Deno.readDirSync(cwd)].map(({ name }) => name);
    assert(names.includes("own.kv") && !names.includes("service.kv"), names.join());
    const db = await openDatabase(`sqlite:${cwd}/shop.db`);
    const { rows } = await db.query({
      text: "SELECT email, roles, password_hash FROM users",
      values: [],
    });
    await db.close();
    assertEquals(rows[0]?.slice(0, 2), ["ada@example.com", '["a","b"]']);
    assertMatch(String(rows[0]?.[2]), /^\$scrypt\$ln=12,/);
    assertEquals((await run(cwd, "users", "delete", "ada@example.com")).code, 0);
    assertEquals((await run(cwd, "users", "list", "--json")).stdout, "[]\n");
  });
});

Deno.test("a configuration without kv has accounts in its table, and no keys: they were in service.kv", async () => {
  await withShop(async (cwd) => {
    const mod = new URL("../../", import.meta.url);
    await Deno.writeTextFile(
      `${cwd}/service.config.ts`,
      `import { openDatabase } from "${mod}mod.ts";
       import { passwordAuth } from "${mod}exports/auth.ts";
       export default {
         db: await openDatabase("sqlite:shop.db"),
         auth: { use: [passwordAuth({ passwords: { scrypt: { N: 4096, r: 8, p: 1 } } })] },
         resources: [],
       };`,
    );
    for (const verb of ["add", "disable", "enable"]) {
      const { code, stderr } = await run(cwd, "users", verb, "ada@example.com");
      assertEquals(code, 0, stderr);
    }
    const { code, stderr } = await run(cwd, "keys", "create", "--name", "ci");
    const reason = "the key-value store is the memory of the service " +
      "(set kv in the configuration to a path or a URL)";
    assertEquals([code, stderr.trim()], [2, `Cannot change accounts or API keys: ${reason}`]);
    assert(![...Deno.readDirSync(cwd)].some(({ name }) => name.endsWith(".kv")));
  });
});

/** Writes a configuration with accounts in a table of its own, whose role has a default. */
async function writeClerks(cwd: string, kv: string): Promise<void> {
  const mod = new URL("../../", import.meta.url);
  await Deno.writeTextFile(
    `${cwd}/service.config.ts`,
    `import { boolean, integer, openDatabase, table, text } from "${mod}mod.ts";
     import { passwordAuth } from "${mod}exports/auth.ts";
     const clerks = table("clerks", {
       id: integer().primaryKey(),
       email: text().notNull().unique(),
       passwordHash: text().notNull(),
       role: text({ enum: ["clerk", "boss"] }).notNull().default("clerk"),
       disabled: boolean(),
     });
     const db = await openDatabase("sqlite:shop.db");
     await db.createTables([clerks]);
     const passwords = { scrypt: { N: 4096, r: 8, p: 1 } };
     const users = { table: clerks, columns: { roles: clerks.role } };
     export default {
       db,
       kv: ${JSON.stringify(kv)},
       auth: { use: [passwordAuth({ users, passwords })] },
       resources: [],
     };`,
  );
}

Deno.test("an account without --roles has the default of its column, and a wrong one is named", async () => {
  await withShop(async (cwd) => {
    await writeClerks(cwd, "own.kv");
    const added = await run(cwd, "users", "add", "ada@b.c");
    assertEquals(added.code, 0, added.stderr);
    assertEquals((await run(cwd, "users", "add", "bob@b.c", "--roles", "boss")).code, 0);
    const cases = [
      [
        "users add eve@b.c --roles admin",
        'does not take the role "admin": it must be one of: clerk, boss',
      ],
      ["users add eve@b.c --roles clerk,boss", "holds one role, a string"],
      [
        "users role bob@b.c admin",
        'does not take the role "admin": it must be one of: clerk, boss',
      ],
      ["users role bob@b.c", "needs a role"],
    ] as const;
    for (const [command, mistake] of cases) {
      const { code, stderr } = await run(cwd, ...command.split(" "));
      assertEquals([code, stderr.trim()], [1, `Cannot store the roles: "role" ${mistake}`]);
    }
    const { stdout } = await run(cwd, "users", "list");
    assertMatch(stdout, /^id.*\n1 +ada@b\.c +clerk\n2 +bob@b\.c +boss\n$/);
  });
});

Deno.test("accounts in a table need no store; what needs one says what to do", async () => {
  await withShop(async (cwd) => {
    await writeClerks(cwd, ":memory:");
    assertEquals((await run(cwd, "users", "list")).stdout, "id  email  name  roles\n");
    for (
      const command of ["add ada@b.c", "disable ada@b.c", "enable ada@b.c", "role ada@b.c boss"]
    ) {
      const { code, stderr } = await run(cwd, "users", ...command.split(" "));
      assertEquals(code, 0, stderr);
    }
    assertMatch((await run(cwd, "users", "list")).stdout, /\n1 +ada@b\.c +boss\n$/);
    const { code, stderr } = await run(cwd, "keys", "list");
    const reason = "the key-value store is the memory of the service " +
      "(set kv in the configuration to a path or a URL)";
    assertEquals([code, stderr.trim()], [2, `Cannot change accounts or API keys: ${reason}`]);
    const config = await Deno.readTextFile(`${cwd}/service.config.ts`);
    await Deno.writeTextFile(
      `${cwd}/service.config.ts`,
      config.replace("passwordAuth({ users,", 'passwordAuth({ users: "kv",'),
    );
    const listed = await run(cwd, "users", "list");
    assertEquals([listed.code, listed.stderr.trim()], [
      1,
      `Cannot change accounts or API keys: ${reason}`,
    ]);
  });
});

Deno.test("mistakes of accounts and keys are one sentence, and exit codes say so", async () => {
  await withShop(async (cwd) => {
    assertEquals((await run(cwd, "users", "add", "a@b.c")).code, 0);
    const cases: readonly (readonly [args: readonly string[], code: number, message: string])[] = [
      [
        ["users", "role", "no@example.com", "x"],
        1,
        "There is no account of no@example.com (see users list)",
      ],
      [["users", "add", "a@b.c"], 1, "Cannot add the account: a@b.c has one"],
      [["users", "add", "no address"], 1, '"no address" is no e-mail address'],
      [
        ["users", "add", "b@b.c", "--name", "B\r\nBcc: all@b.c"],
        1,
        'Cannot add the account: "name" holds a control character',
      ],
      [["keys", "revoke", "123"], 1, "Cannot revoke 123: there is no such key (see keys list)"],
      [
        ["keys", "list", "--kv", ":memory:"],
        2,
        "Cannot change accounts or API keys: the key-value store is the memory of the service " +
        "(give --kv a path or a URL)",
      ],
      [
        ["users", "list", "--kv", "http://192.0.2.2:18778"],
        2,
        "Cannot open the key-value store: kv takes http:// on this machine alone: use https://",
      ],
      [
        ["users", "ad", "x"],
        2,
        'users takes add, list, role, disable, enable, password, logout, delete, not "ad"\n' +
        "Try --help.",
      ],
    ];
    for (const [args, code, message] of cases) {
      const { code: found, stderr } = await run(cwd, ...args);
      assertEquals([found, stderr.trim()], [code, message]);
    }
  });
});

Deno.test("a mistyped --kv was created, and looked like a store without accounts", async () => {
  await withShop(async (cwd) => {
    const commands = [
      ...["users list", "users role a@b.c x", "users disable a@b.c", "users enable a@b.c"],
      ...["keys list", "keys revoke 12"],
    ];
    for (const command of commands) {
      const { code, stderr } = await run(cwd, ...command.split(" "), "--kv", "servce.kv");
      const message = "Cannot open servce.kv: there is no such file (name the store by --kv)";
      assertEquals([code, stderr.trim()], [2, message], command);
    }
    assertEquals([...Deno.readDirSync(cwd)].map(({ name }) => name), ["shop.db"]);
  });
});

Deno.test("--password-stdin takes the passwords that a signup takes", async () => {
  await withShop(async (cwd) => {
    const add = (input: string) =>
      runChild([cli, "users", "add", "ada@example.com", "--password-stdin"], {
        cwd,
        startedBy: ["sh", "-c", `printf '${input}' | "$@"`, "sh"],
      });
    const cases: readonly (readonly [input: string, reason: string])[] = [
      ["", "the standard input has no password"],
      ["short\\n", '"password" has fewer than 15 characters'],
      ["a".repeat(257), '"password" has more than 256 characters'],
      ["a".repeat(20), '"password" has fewer than 5 different characters'],
      ["of ada@example.com\\n", '"password" holds the e-mail address'],
      ["in Latin 1, \\351t\\351 comme hiver", "the standard input is not in UTF-8"],
    ];
    for (const [input, reason] of cases) {
      const { code, stderr } = await add(input);
      assertEquals([code, stderr.trim()], [1, `Cannot add the account: ${reason}`], input);
    }
    const { code, stderr } = await add("a password of many words\\n");
    assertEquals([code, stderr.trim()], [0, "Added ada@example.com"]);
  });
});

Deno.test("--kv that named the served database wrote into it, and served password hashes", async () => {
  await withShop(async (cwd) => {
    const bytes = () => Deno.readFileSync(`${cwd}/shop.db`);
    const before = bytes();
    await Deno.symlink(`${cwd}/shop.db`, `${cwd}/link.db`);
    const commands = [
      ["keys", "list", "--kv", "shop.db"],
      ["users", "add", "ada@example.com", "--kv", "link.db"],
      ["credits", "balance", "ada", "--kv", "./shop.db"],
      ["users", "list", "--kv", "file:shop.db"],
      ["shop.db", "--users", "--kv", "shop.db", "--port", "0"],
      ["shop.db", "--write", "--users", "--kv", "link.db", "--port", "0"],
    ];
    for (const command of commands) {
      const { code, stderr } = await run(cwd, ...command);
      assert(code !== 0, command.join(" "));
      assertMatch(stderr, /give kv a file of its own|kv takes a path/, command.join(" "));
      if (!command.includes("--write")) assertEquals(bytes(), before, command.join(" "));
    }
    const store = await Deno.openKv(`${cwd}/shop.db`);
    await store.set(["account"], "$scrypt$");
    store.close();
    {
      await using service = startChild([cli, "shop.db", "--port", "0"], { cwd });
      const [origin = ""] = await service.printed(/http:\/\/127\.0\.0\.1:\d+/);
      for (const table of ["kv", "queue", "queue_running", "data_version", "migration_state"]) {
        const { status, body } = await fetch(`${origin}/api/${table}`);
        await body?.cancel();
        assertEquals(status, 404, table);
      }
    }
    const { stdout } = await run(cwd, "uninstall", "shop.db");
    assertMatch(stdout, /table kv\n/);
    const db = await openDatabase(`sqlite:${cwd}/shop.db`);
    const { tables, leftOut } = await db.introspect();
    assertEquals([tables.map(({ name }) => name), leftOut], [["items"], []]);
    await db.close();
    // A store of its own stays as it is.
    await run(cwd, "users", "add", "ada@example.com");
    assertMatch((await run(cwd, "uninstall", "service.kv")).stdout, /^Nothing of the service/);
  });
});
