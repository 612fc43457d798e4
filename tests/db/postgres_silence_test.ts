import { assertEquals } from "@std/assert";
import { DatabaseError } from "../../src/db/database_error.ts";
import { openPostgres } from "../../src/engines/postgres/driver/postgres_js_driver.ts";
import { sharedBegin } from "../../src/engines/postgres/connection/session_settings.ts";
import { SilenceWatch } from "../../src/engines/postgres/driver/silence_watch.ts";
import { sleep } from "../../src/runtime/runtime.ts";
import { testOnPostgres } from "../support/postgres_tests.ts";
import { handClock } from "./hand_clock.ts";
import { postgresProxy } from "./postgres_proxy.ts";

for (const search of ["", "?prepare=false"]) {
  testOnPostgres(
    `a statement ends when the server is gone without a closed connection${search}`,
    async (url) => {
      const { clock, advance } = handClock();
      await using proxy = postgresProxy(url);
      const driver = await openPostgres(proxy.url + search, { clock, statementTimeoutMs: 2_000 });
      const query = async (text: string) => await driver.query({ text, values: [] });
      const outcome = (work: Promise<unknown>) =>
        work.then(
          () => "done",
          (error) => error instanceof DatabaseError ? error.kind : String(error),
        );
      await query("CREATE TABLE t (id int)");
      proxy.stall();
      const outcomes: string[] = [];
      const works = {
        write: () => query("INSERT INTO t VALUES (1)"),
        part: () =>
          driver.transaction(async (tx) => {
            await tx.query({ text: "INSERT INTO t VALUES (2)", values: [] });
          }),
        read: () => query("SELECT 1"),
      };
      for (const [name, work] of Object.entries<() => Promise<unknown>>(works)) {
        outcome(work()).then((kind) => outcomes.push(`${name} ${kind}`));
      }
      for (let seconds = 0; seconds < 60 && outcomes.length < 3; seconds++) {
        await sleep(20);
        advance(1_000);
      }
      assertEquals(outcomes.toSorted(), [
        "part unavailable",
        "read unavailable",
        "write unknown-outcome",
      ]);
      proxy.resume();
      assertEquals(await outcome(query("SELECT count(*) FROM t")), "done");
      await driver.close();
    },
  );
}

/** A watch over a server whose limit is one second: it permits six seconds of silence. */
function watched() {
  const { clock, advance } = handClock();
  let losses = 0;
  return { watch: new SilenceWatch(clock, 1_000, () => losses++), advance, losses: () => losses };
}

Deno.test("a server that sends parts of a response is not gone", () => {
  const { watch, advance, losses } = watched();
  watch.sends("SELECT 1");
  for (let parts = 0; parts < 10; parts++) {
    advance(3_000);
    watch.hears();
  }
  assertEquals(losses(), 0);
  advance(3_000);
  advance(3_000);
  assertEquals(losses(), 1);
});

Deno.test("a timer that runs since an earlier statement does not end a later one too early", () => {
  const { watch, advance, losses } = watched();
  watch.sends("SELECT 1");
  watch.end();
  advance(2_900);
  watch.sends("SELECT 2");
  for (const ms of [100, 3_000, 2_900]) {
    advance(ms);
    assertEquals(losses(), 0);
  }
  advance(3_000);
  assertEquals(losses(), 1);
});

Deno.test("statements one after the other set one timer, which ends without statements", () => {
  const { clock, advance } = handClock();
  let timers = 0;
  const counting = {
    ...clock,
    after(delayMs: number, work: () => void) {
      timers++;
      return clock.after(delayMs, work);
    },
  };
  const watch = new SilenceWatch(counting, 1_000, () => {});
  for (let statement = 0; statement < 100; statement++) {
    watch.sends("SELECT 1");
    watch.end();
  }
  assertEquals(timers, 1);
  advance(3_000);
  advance(3_000);
  assertEquals(timers, 1);
  watch.sends("SELECT 1");
  watch.end();
  assertEquals(timers, 2);
  // A statement can still be sent to a connection that is lost.
  watch.stop();
  watch.sends("SELECT 1");
  assertEquals(timers, 2);
});

Deno.test("a statement with a limit of its own is not ended by the limit of the session", () => {
  const cases: readonly (readonly [readonly string[], number])[] = [
    [["SET statement_timeout = 0", "COMMIT", "CREATE INDEX CONCURRENTLY i ON t (a)"], 0],
    [["BEGIN", "SET LOCAL statement_timeout = 0", "LOCK TABLE t"], 0],
    [["BEGIN", "SELECT set_config('statement_timeout', $2, true)", "SELECT f()"], 0],
    [["BEGIN", "SET LOCAL statement_timeout = 0", "COMMIT", "SELECT 1"], 1],
    [[sharedBegin, "INSERT INTO t VALUES (1)"], 1],
    [["BEGIN; SET LOCAL statement_timeout = 15000", "INSERT INTO t VALUES (1)"], 1],
  ];
  for (const [texts, expected] of cases) {
    const { watch, advance, losses } = watched();
    for (const text of texts) {
      watch.end();
      watch.sends(text);
    }
    for (let steps = 0; steps < 4; steps++) advance(3_000);
    assertEquals(losses(), expected, texts.join("; "));
  }
});

Deno.test("without a time limit of the server, no silence is too long", () => {
  const { clock, advance } = handClock();
  let losses = 0;
  const watch = new SilenceWatch(clock, 0, () => losses++);
  watch.sends("SELECT 1");
  advance(1_000_000);
  assertEquals(losses, 0);
});
