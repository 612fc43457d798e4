import { assert, assertEquals, assertRejects } from "@std/assert";
import { DatabaseError, type DatabaseErrorKind } from "../../src/db/database_error.ts";
import type { Connection, Driver } from "../../src/db/driver.ts";
import { openPostgres } from "../../src/engines/postgres/driver/postgres_js_driver.ts";
import { transact } from "../../src/db/transact.ts";
import type { Random } from "../../src/runtime/runtime.ts";
import { systemRuntime } from "../../src/runtime/system_runtime.ts";
import { sqliteDialect } from "../../src/engines/sqlite/sql/dialect.ts";
import { sqliteText } from "../../src/engines/sqlite/sql/text_operators.ts";
import { fails } from "../conformance/driver.ts";
import { createScratchDatabase } from "../support/engines.ts";
import { runScript } from "../support/scratch.ts";
import { testPostgres, testUnless } from "../support/skip.ts";

const runtime = systemRuntime(() => {});

for (const isAutocommit of [false, true]) {
  const name = isAutocommit ? "lone statement" : "transact";

  Deno.test(`${name}: work that gave way twice is done at the third try, after a pause each`, async () => {
    const pauses: number[] = [];
    const random: Random = {
      bytes(length) {
        pauses.push(pauses.length + 1);
        return new Uint8Array(length);
      },
    };
    const driver = failing("retryable", 2);
    const result = await transact(driver, { random }, (connection) => connection.query(nothing), {
      isAutocommit,
    });
    assertEquals(result.changed, 3);
    assertEquals(pauses, [1, 2]);
  });

  Deno.test(`${name}: the third failure is the caller's, and so is any other kind`, async () => {
    const cases: readonly (readonly [DatabaseErrorKind, number])[] = [
      ["retryable", 3],
      ["unknown-outcome", 1],
      ["unavailable", 1],
      ["unique", 1],
    ];
    for (const [kind, tries] of cases) {
      let tried = 0;
      const work = transact(failing(kind, 9), runtime, (connection) => {
        tried++;
        return connection.query(nothing);
      }, { isAutocommit });
      await fails(work, kind);
      assertEquals(tried, tries, kind);
    }
  });
}

const server = testPostgres();

testUnless(
  "missing" in server ? server.missing : null,
  "postgres: a lone statement that lost against another is tried three times",
  async () => {
    assert("url" in server);
    const scratch = await createScratchDatabase(server.url);
    const driver = await openPostgres(scratch.url);
    try {
      await runScript(driver, conflictingInserts.replaceAll(";;", ";\n"));
      const insert = { text: "INSERT INTO t VALUES (1)", values: [] };
      await assertRejects(async () => await driver.query(insert), DatabaseError, "retryable");
      await transact(driver, runtime, (connection) => connection.query(insert), {
        isAutocommit: true,
      });
      await transact(driver, runtime, (connection) => connection.query(insert));
      const { rows } = await driver.query({ text: "SELECT count(*) FROM t", values: [] });
      assertEquals(rows, [["2"]]);
    } finally {
      await driver.close();
      await scratch.drop();
    }
  },
);

/** Every third insert succeeds: a sequence does not go back with its transaction. */
const conflictingInserts = `CREATE TABLE t (n int);;
CREATE SEQUENCE tries MINVALUE 0 START 0;;
CREATE FUNCTION give_way() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN
  IF nextval('tries') % 3 <> 0 THEN
  RAISE EXCEPTION 'clash' USING ERRCODE = '40001'; END IF; RETURN NEW; END $$;;
CREATE TRIGGER give_way BEFORE INSERT ON t FOR EACH ROW EXECUTE FUNCTION give_way();;
SELECT nextval('tries');;`;

const nothing = { text: "", values: [] };

/** Fails `times` times, then returns the number of its calls. */
function failing(kind: DatabaseErrorKind, times: number): Driver {
  let asked = 0;
  const connection: Connection = {
    query() {
      asked++;
      if (asked <= times) return Promise.reject(new DatabaseError(kind, null));
      return Promise.resolve({ rows: [], changed: asked });
    },
  };
  return {
    ...connection,
    dialect: sqliteDialect({ text: sqliteText }),
    label: "failing",
    isShared: false,
    signals: null,
    onCommit: () => () => {},
    reads: () => connection,
    transaction: async (work) => await work(connection),
    close: () => Promise.resolve(),
  };
}
