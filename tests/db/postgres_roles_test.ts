import { assertEquals } from "@std/assert";
import type { Connection } from "../../src/db/driver.ts";
import { openPostgres } from "../../src/engines/postgres/driver/postgres_js_driver.ts";
import { systemClock } from "../../src/runtime/system_runtime.ts";
import { runScript } from "../support/scratch.ts";
import { testOnPostgres } from "../support/postgres_tests.ts";

/** Each case: what lets the role see all rows, and what takes this away. */
const cases: Readonly<Record<string, { before: string; change: string; from?: string }>> = {
  "a role that loses BYPASSRLS": {
    before: "ALTER ROLE reader_ BYPASSRLS",
    change: "ALTER ROLE reader_ NOBYPASSRLS",
  },
  "a role that is a superuser no longer": {
    before: "ALTER ROLE reader_ SUPERUSER",
    change: "ALTER ROLE reader_ NOSUPERUSER",
  },
  "a role that loses the group of a policy": {
    before: "CREATE POLICY everything ON docs TO group_ USING (true); GRANT group_ TO reader_",
    change: "REVOKE group_ FROM reader_",
  },
  "a role whose group loses the group of a policy": {
    before: `CREATE POLICY everything ON docs TO group_ USING (true);
      GRANT group_ TO owner_; GRANT owner_ TO reader_`,
    change: "REVOKE group_ FROM owner_",
  },
  "a role that loses the role of the owner": {
    before: "ALTER TABLE docs OWNER TO owner_; GRANT owner_ TO reader_",
    change: "REVOKE owner_ FROM reader_",
  },
  "the owner of a view that loses BYPASSRLS": {
    before: `GRANT SELECT ON docs TO owner_; ALTER VIEW shown OWNER TO owner_;
      ALTER ROLE owner_ BYPASSRLS`,
    change: "ALTER ROLE owner_ NOBYPASSRLS",
    from: "shown",
  },
  "the owner of a function that loses BYPASSRLS": {
    before: `GRANT SELECT ON docs TO owner_; ALTER FUNCTION found() OWNER TO owner_;
      ALTER ROLE owner_ BYPASSRLS`,
    change: "ALTER ROLE owner_ NOBYPASSRLS",
    from: "found() AS found(id)",
  },
  "the role that a function sets": {
    before: `GRANT SELECT ON docs TO owner_; GRANT owner_ TO reader_ WITH ADMIN OPTION;
      ALTER FUNCTION found() SECURITY INVOKER; ALTER FUNCTION found() SET role = owner_;
      ALTER ROLE owner_ BYPASSRLS`,
    change: "ALTER ROLE owner_ NOBYPASSRLS",
    from: "found() AS found(id)",
  },
};

for (
  const [name, { before, change, from = "docs" }] of Object.entries(cases)
) {
  testOnPostgres(`a second later, policies apply to ${name}`, async (url) => {
    const suffix = crypto.randomUUID().slice(0, 8);
    const named = (text: string) => text.replace(/\b(reader|group|owner)_/g, `$1_${suffix}`);
    const admin = await openPostgres(url);
    const run = (script: string) => runScript(admin, named(script).replaceAll(/;\s*/g, ";\n"));
    let skippedMs = 0;
    const clock = { ...systemClock, elapsedMs: () => systemClock.elapsedMs() + skippedMs };
    const reader = new URL(url);
    reader.username = named("reader_");
    reader.password = "secret";
    await run(
      `CREATE ROLE reader_ LOGIN PASSWORD 'secret'; CREATE ROLE group_; CREATE ROLE owner_`,
    );
    try {
      await run(`CREATE TABLE docs (id int, visible boolean);
        INSERT INTO docs VALUES (1, true), (2, false);
        ALTER TABLE docs ENABLE ROW LEVEL SECURITY;
        CREATE POLICY visible ON docs USING (visible);
        CREATE VIEW shown AS SELECT * FROM docs;
        CREATE FUNCTION found() RETURNS SETOF int LANGUAGE sql SECURITY DEFINER
          AS 'SELECT id FROM docs';
        GRANT SELECT, UPDATE ON docs, shown TO reader_; ${before}`);
      const driver = await openPostgres(reader.href, { clock, maxConnections: 2 });
      try {
        const select = { text: `SELECT count(*) FROM ${from}`, values: [] };
        const count = async (connection: Connection) =>
          Number((await connection.query(select)).rows[0]?.[0]);
        const limits = {
          identity: "ada",
          signal: new AbortController().signal,
          maxBytes: 1_000,
          timeoutMs: 5_000,
        };
        const readAll = () =>
          Promise.all([
            count(driver),
            count(driver.reads(limits)),
            driver.transaction((connection) => count(connection)),
          ]);
        for (let time = 0; time < 8; time++) assertEquals(await readAll(), [2, 2, 2]);
        await run(change);
        skippedMs += 1_001;
        for (let time = 0; time < 8; time++) assertEquals(await readAll(), [1, 1, 1]);
      } finally {
        await driver.close();
      }
    } finally {
      await run(`DROP OWNED BY reader_, group_, owner_ CASCADE; DROP ROLE reader_, group_, owner_`);
      await admin.close();
    }
  });
}
