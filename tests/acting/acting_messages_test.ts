/** With `actAs`, a read whose statements are prepared is one message, in which values are literals. */
import { assert, assertEquals, assertNotEquals, assertRejects } from "@std/assert";
import { openPostgres } from "../../src/engines/postgres/driver/postgres_js_driver.ts";
import { PreparedStatements } from "../../src/engines/postgres/driver/prepared_statements.ts";
import { DatabaseError } from "../../src/db/database_error.ts";
import type { Driver } from "../../src/db/driver.ts";
import type { SqlValue } from "../../src/sql/fragment.ts";
import { runScript } from "../support/scratch.ts";
import { testOnPostgres } from "../support/postgres_tests.ts";

/** Drivers of a database with the roles `ada` and `bob`, over one connection without rights. */
async function roles(url: string) {
  const suffix = crypto.randomUUID().slice(0, 8);
  const [ada, bob, login] = [`ada_${suffix}`, `bob_${suffix}`, `login_${suffix}`] as const;
  const admin = await openPostgres(url);
  const run = (script: string) => runScript(admin, script);
  await run(`CREATE ROLE ${ada};
CREATE ROLE ${bob};
CREATE ROLE ${login} LOGIN NOINHERIT PASSWORD 'secret';
GRANT ${ada}, ${bob} TO ${login};
CREATE TABLE notes (id int PRIMARY KEY, owner text NOT NULL);
INSERT INTO notes VALUES (1, '${ada}'), (2, '${bob}');
ALTER TABLE notes ENABLE ROW LEVEL SECURITY;
CREATE POLICY own ON notes USING (owner = current_user);
GRANT SELECT ON notes TO ${ada}, ${bob}`);
  const of = new URL(url);
  of.username = login;
  of.password = "secret";
  const drivers: Driver[] = [];
  return {
    ada,
    bob,
    login,
    run,
    async open(): Promise<Driver> {
      const driver = await openPostgres(of.href, { maxConnections: 1 });
      drivers.push(driver);
      return driver;
    },
    async [Symbol.asyncDispose]() {
      for (const driver of drivers) await driver.close();
      await run(`DROP OWNED BY ${ada}, ${bob}, ${login};
DROP ROLE ${ada}, ${bob}, ${login}`);
      await admin.close();
    },
  };
}

const as = (driver: Driver, role: string, claims = ""): Driver => {
  const acting = driver.as?.({ role, settings: { "app.claims": claims } });
  if (acting === undefined) throw new Error("The driver has no roles");
  return acting;
};

const read = async (driver: Driver, text: string, ...values: SqlValue[]) =>
  (await driver.query({ text, values, isSingle: true })).rows[0];

/** Is true for a read that is a message of literals. */
const isMessage = "current_query() LIKE 'EXECUTE %'";

const strings: readonly string[] = [
  ...["", "'", "''", "\\", "\\\\", "\\'", "'\\", "\\''; DROP TABLE notes; --", "E'\\'", "$1", "$$"],
  ...["$a$'$a$", "a\nb\r\n\tc", "-- no comment", "/* none */", ";", '"', "\\x41", "\\u0041", "\\n"],
  ...["Ünïcödé ✓ 🦊 \u2028", "\ud800", "%s", '{"a":"\'\\\\\\""}', "'".repeat(9), "\\".repeat(9)],
  ...["\x01\x7f", "x".repeat(200_000) + "'\\"],
];

for (const conforming of ["on", "off"]) {
  testOnPostgres(
    `literals are the values with standard_conforming_strings = ${conforming}`,
    async (url) => {
      await using of = await roles(url);
      const driver = await of.open();
      await driver.query({ text: `SET standard_conforming_strings = ${conforming}`, values: [] });
      assertEquals(
        (await driver.query({ text: "SHOW standard_conforming_strings", values: [] })).rows,
        [
          [conforming],
        ],
      );
      const text = `SELECT $1, current_setting('app.claims'), current_user, ${isMessage}`;
      await read(as(driver, of.ada), text, "");
      for (const one of strings) {
        const sent = one.replace("\ud800", "\ufffd");
        assertEquals(await read(as(driver, of.ada, one), text, one), [sent, sent, of.ada, "t"]);
      }
      assertEquals(await read(as(driver, of.ada, "c"), text, null), [null, "c", of.ada, "t"]);
      const typed =
        `SELECT $1::int + 1, $2::bytea, $3::jsonb ->> 'a', $4::text[], $5::date, ${isMessage}`;
      const values = [
        "41",
        new Uint8Array([0, 39, 92]),
        '{"a":"\'"}',
        '{"\\\\","\'"}',
        "2026-01-02",
      ];
      const right = ["42", "\\x00275c", "'", '{"\\\\",\'}', "2026-01-02"];
      assertEquals(await read(as(driver, of.ada), typed, ...values), [...right, "f"]);
      assertEquals(await read(as(driver, of.ada), typed, ...values), [...right, "t"]);
      assertEquals(
        await read(
          driver,
          "SELECT current_user, count(*) FROM pg_tables WHERE tablename = 'notes'",
        ),
        [
          of.login,
          "1",
        ],
      );
    },
  );
}

Deno.test("a message has only statements that are prepared, and no NUL", () => {
  const prepared = new PreparedStatements();
  const [a, b] = [{ text: "a", values: ["'", null] }, { text: "b", values: [] }];
  assert(prepared.admits("a"));
  assertEquals(prepared.message([a]), null);
  for (const { text } of [a, b]) prepared.confirm(text, { statement: { name: `n${text}` } });
  assertEquals(prepared.message([a, b]), `EXECUTE "na"('''',NULL);EXECUTE "nb";`);
  assertEquals(prepared.message([a, { ...b, values: ["x\0y"] }]), null);
  assertEquals(prepared.message([a, { ...b, text: "c" }]), null);
});

testOnPostgres("an error of a message is the error of the read alone", async (url) => {
  await using of = await roles(url);
  const driver = await of.open();
  const kindOf = async (text: string, value: string, claims = "") => {
    const error = await assertRejects(
      () => read(as(driver, of.ada, claims), text, value),
      DatabaseError,
    );
    return error.kind;
  };
  const faults: readonly (readonly [text: string, good: string, bad: string, kind: string])[] = [
    ["SELECT $1", "a", "a\0b", "invalid-value"],
    ["SELECT $1::int", "1", "one", "invalid-value"],
    ["SELECT $1::tsquery", "a & b", "a & &", "invalid-value"],
    ["SELECT $1::regclass", "pg_class", "no_table", "invalid-value"],
    ["SELECT 1 / $1::int", "1", "0", "other"],
  ];
  for (const [text, good, bad, kind] of faults) {
    const first = await kindOf(text, bad);
    await read(as(driver, of.ada), text, good);
    assertEquals([first, await kindOf(text, bad)], [kind, kind], text);
    assertEquals(
      (await read(as(driver, of.ada), text, good))?.length,
      1,
      "the connection is usable",
    );
  }
  assertEquals(await kindOf("SELECT $1", "a", "\0"), "invalid-value");
});

testOnPostgres(
  "a lost role and a lost right differ, and neither is another's role",
  async (url) => {
    await using of = await roles(url);
    const driver = await of.open();
    const text = `SELECT id, ${isMessage} FROM notes ORDER BY id LIMIT $1`;
    const failure = (role: string) =>
      assertRejects(() => read(as(driver, role), text, "2"), DatabaseError);
    for (const [role, id] of [[of.ada, "1"], [of.bob, "2"]] as const) {
      await read(as(driver, role), text, "2");
      assertEquals(await read(as(driver, role), text, "2"), [id, "t"]);
    }
    await of.run(`REVOKE SELECT ON notes FROM ${of.ada}`);
    assertEquals((await failure(of.ada)).kind, "forbidden");
    await of.run(`REVOKE ${of.bob} FROM ${of.login}`);
    const { kind, message, cause } = await failure(of.bob);
    assertEquals(kind, "unavailable");
    assert(String(cause).includes(`Cannot act as the role "${of.bob}"`), `${message}: ${cause}`);
    await of.run(`GRANT SELECT ON notes TO ${of.ada};
GRANT ${of.bob} TO ${of.login}`);
    for (const [role, id] of [[of.ada, "1"], [of.bob, "2"]] as const) {
      assertEquals((await read(as(driver, role), text, "2"))?.[0], id);
    }
    const prepared =
      "SELECT count(*) FROM pg_prepared_statements WHERE statement LIKE 'SELECT id,%'";
    assertEquals(await read(driver, prepared), ["2"]);
  },
);

testOnPostgres("a read whose statement is stale or gone is repeated", async (url) => {
  await using of = await roles(url);
  const driver = await of.open();
  const text = `SELECT notes.*, ${isMessage} FROM notes LIMIT $1`;
  const row = () => read(as(driver, of.ada), text, "1");
  await row();
  assertEquals(await row(), ["1", of.ada, "t"]);
  await of.run("ALTER TABLE notes ADD title text DEFAULT 'new'");
  assertEquals((await row())?.slice(0, 3), ["1", of.ada, "new"]);
  assertEquals(await row(), ["1", of.ada, "new", "t"]);
  for (const command of ["DEALLOCATE ALL", "DISCARD ALL"]) {
    await driver.query({ text: command, values: [] });
    assertEquals((await row())?.slice(0, 3), ["1", of.ada, "new"]);
    assertEquals(await row(), ["1", of.ada, "new", "t"]);
  }
});

testOnPostgres("a connection that can prepare no more statements is replaced", async (url) => {
  await using of = await roles(url);
  const driver = await of.open();
  const pid = async () =>
    (await driver.query({ text: "SELECT pg_backend_pid()", values: [] })).rows;
  const first = await pid();
  for (const n of [1, 2, 3, 4]) await read(driver, `SELECT ${n} --${"x".repeat(200_000)}`);
  assertEquals(await pid(), first, "long statements are not prepared, and nothing else changes");
  for (let n = 0; n < 600; n++) await read(driver, `SELECT ${n}`);
  assertNotEquals(await pid(), first);
  await read(as(driver, of.ada), `SELECT ${isMessage}`);
  assertEquals(await read(as(driver, of.ada), `SELECT ${isMessage}`), ["t"]);
});

testOnPostgres(
  "a message that waits for a lock is canceled, and its read runs alone",
  async (url) => {
    await using of = await roles(url);
    const driver = await of.open();
    const [locking, watching] = [await openPostgres(url), await openPostgres(url)];
    const text = `SELECT id, ${isMessage} FROM notes LIMIT $1`;
    const row = () => read(as(driver, of.ada), text, "9");
    await row();
    assertEquals(await row(), ["1", "t"]);
    const waiting = `SELECT count(*) FROM pg_stat_activity WHERE wait_event_type = 'Lock'
    AND query LIKE $1 AND usename = $2`;
    const waits = async (query: string) => {
      while ((await read(watching, waiting, query, of.login))?.[0] !== "1");
    };
    const result = await locking.transaction(async (tx) => {
      await tx.query({ text: "LOCK TABLE notes", values: [] });
      const pending = row();
      await waits("SELECT id, %");
      return { pending };
    });
    assertEquals(await result.pending, ["1", "f"]);
    assertEquals(await read(driver, "SELECT current_user"), [of.login]);
    await Promise.all([locking.close(), watching.close()]);
  },
);
