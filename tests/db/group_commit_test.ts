import { AsyncLocalStorage } from "node:async_hooks";
import { assertEquals, assertRejects } from "@std/assert";
import { DatabaseError } from "../../src/db/database_error.ts";
import { GroupCommit } from "../../src/engines/sqlite/driver/group_commit.ts";
import { maxJobsPerCommit } from "../../src/engines/sqlite/driver/job_queue.ts";
import type { SqliteConnection } from "../../src/engines/sqlite/driver/sqlite_connection.ts";
import { transactionGuard } from "../../src/db/transact.ts";
import { runAfterPendingIo } from "../../src/runtime/runtime.ts";
import { fails } from "../conformance/driver.ts";
import { gate } from "../support/scratch.ts";
import { handClock } from "./hand_clock.ts";

Deno.test("writes that come together share one commit, in the order in which they came", async () => {
  const { groups, log } = scene();
  await Promise.all([write(groups, "a"), pair(groups, "b", "c"), write(groups, "d")]);
  assertEquals(log(), ["BEGIN a b c d COMMIT"]);
});

Deno.test("no result is reported before the commit", async () => {
  const { groups, log } = scene();
  const heard: string[] = [];
  const jobs = ["a", "b"].map(async (text) => {
    await write(groups, text);
    heard.push(log().at(-1) ?? "");
  });
  const failing = assertRejects(() => write(groups, "fail")).then(() =>
    heard.push(log().at(-1) ?? "")
  );
  await Promise.all([...jobs, failing]);
  assertEquals(heard, Array(3).fill("BEGIN a b (fail) COMMIT"));
});

Deno.test("a group closes when it is full, and when it is old", async () => {
  const { groups, log, clock } = scene();
  await Promise.all(Array.from({ length: maxJobsPerCommit + 1 }, () => write(groups, "w")));
  assertEquals(log().map((group) => group.split(" w").length - 1), [maxJobsPerCommit, 1]);
  clock.advance(1);
  const slow = groups.transaction(async (connection) => {
    await connection.query(statement("slow"));
    clock.advance(20);
  });
  await Promise.all([slow, write(groups, "a")]);
  assertEquals(log().slice(2), ["BEGIN slow COMMIT", "BEGIN a COMMIT"]);
});

Deno.test("a transaction that waits comes first in a group, once it is known to wait", async () => {
  const { groups, log } = scene();
  const waiting = (text: string) =>
    groups.transaction(async (connection) => {
      await connection.query(statement(text));
      await turns(3);
    });
  await Promise.all([write(groups, "a"), waiting("b"), write(groups, "c")]);
  await Promise.all([write(groups, "d"), waiting("e"), waiting("f"), write(groups, "g")]);
  assertEquals(log(), ["BEGIN a b c COMMIT", "BEGIN d COMMIT", "BEGIN e f g COMMIT"]);
  // A transaction that no longer waits may come later in a group again.
  await Promise.all([write(groups, "h"), pair(groups, "i", "j"), write(groups, "k")]);
  await Promise.all([write(groups, "l"), pair(groups, "m", "n"), write(groups, "o")]);
  assertEquals(log().slice(3), ["BEGIN h COMMIT", "BEGIN i j k COMMIT", "BEGIN l m n o COMMIT"]);
});

Deno.test("a group takes no second transaction that waits after 5 ms", async () => {
  const { groups, log, clock } = scene();
  const waiting = (text: string, ms: number) =>
    groups.transaction(async (connection) => {
      await connection.query(statement(text));
      await turns(3);
      clock.advance(ms);
    });
  await Promise.all([waiting("a", 4), waiting("b", 1), waiting("c", 1), write(groups, "d")]);
  assertEquals(log(), ["BEGIN a b COMMIT", "BEGIN c d COMMIT"]);
});

Deno.test("a job runs in the context of its caller, not of the first one", async () => {
  const { groups } = scene();
  const caller = new AsyncLocalStorage<string>();
  const seen = await Promise.all(
    ["a", "b"].map((name) =>
      caller.run(name, () =>
        groups.transaction(async () => {
          await Promise.resolve();
          return caller.getStore();
        }))
    ),
  );
  assertEquals(seen, ["a", "b"]);
});

Deno.test("only the job that fails is rolled back", async () => {
  const { groups, statements } = scene();
  const [first, failing, last] = ["a", "fail", "b"].map((text) => write(groups, text));
  await Promise.all([first, assertRejects(async () => await failing), last]);
  assertEquals(statements(), [
    ...["BEGIN IMMEDIATE", "SAVEPOINT service_job", "a", "RELEASE service_job"],
    ...["SAVEPOINT service_job", "(fail)", "ROLLBACK TO service_job", "RELEASE service_job"],
    ...["SAVEPOINT service_job", "b", "RELEASE service_job", "COMMIT"],
  ]);
});

Deno.test("where all was rolled back, statements run again one by one and transactions are retryable", async () => {
  const { groups, log } = scene({ lost: "unavailable" });
  const first = write(groups, "a");
  const unit = pair(groups, "b", "c");
  const culprit = write(groups, "lost");
  const last = [write(groups, "d"), write(groups, "e")];
  await fails(unit, "retryable");
  await fails(culprit, "unavailable");
  await Promise.all([first, ...last]);
  await Promise.all([write(groups, "f"), write(groups, "g")]);
  assertEquals(log(), [
    "BEGIN a b c (lost)",
    "BEGIN a COMMIT",
    "BEGIN d COMMIT",
    "BEGIN e COMMIT",
    "BEGIN f g COMMIT",
  ]);
});

Deno.test("a commit that a foreign key prevents is split into single ones", async () => {
  const { groups, log } = scene({ broken: "foreign-key" });
  const jobs = [write(groups, "a"), write(groups, "broken"), write(groups, "b")];
  const results = await Promise.allSettled(jobs);
  assertEquals(results.map(({ status }) => status), ["fulfilled", "rejected", "fulfilled"]);
  assertEquals(log(), [
    "BEGIN a broken b (COMMIT) ROLLBACK",
    "BEGIN a COMMIT",
    "BEGIN broken (COMMIT) ROLLBACK",
    "BEGIN b COMMIT",
  ]);
});

Deno.test("a commit that failed rejects every job of its group", async () => {
  const { groups, log } = scene({ broken: "unavailable" });
  const jobs = [write(groups, "a"), pair(groups, "b", "c"), write(groups, "broken")];
  await Promise.all(jobs.map((job) => fails(job, "unavailable")));
  await write(groups, "d");
  assertEquals(log(), ["BEGIN a b c broken (COMMIT) ROLLBACK", "BEGIN d COMMIT"]);
});

Deno.test("a commit that stays busy fails all, and leaves nothing open", async () => {
  const { groups, log, clock } = scene({ broken: "busy" });
  const jobs = [write(groups, "a"), write(groups, "broken")];
  const rejected = Promise.all(jobs.map((job) => fails(job, "unavailable")));
  await turns(3);
  clock.advance(100);
  await rejected;
  assertEquals(log().at(-1)?.endsWith("(COMMIT) ROLLBACK"), true);
});

Deno.test("no job waits for its turn longer than the limit, whichever job holds the writer", async () => {
  const { groups, clock } = scene();
  const end = gate();
  const holder = groups.transaction(() => end.passed);
  const early = write(groups, "a");
  await turns(3);
  clock.advance(60);
  const late = write(groups, "b");
  clock.advance(60);
  await fails(early, "unavailable");
  end.open();
  await Promise.all([holder, late]);
});

Deno.test("it closes after the whole queue, and at the latest after the limit", async () => {
  const idle = scene();
  const jobs = [write(idle.groups, "a"), pair(idle.groups, "b", "c")];
  await idle.groups.close();
  assertEquals(idle.log(), ["BEGIN a b c COMMIT"]);
  await Promise.all(jobs);
  await fails(write(idle.groups, "d"), "unavailable");

  const stuck = scene();
  const end = gate();
  const holder = stuck.groups.transaction(() => end.passed);
  const waiting = write(stuck.groups, "a");
  await turns(3);
  const closing = stuck.groups.close();
  const rejected = fails(waiting, "unavailable");
  stuck.clock.advance(100);
  await Promise.all([closing, rejected]);
  end.open();
  await holder;
});

interface Scene {
  readonly groups: GroupCommit;
  readonly clock: { advance(ms: number): void };
  /** What ran, one line for each group, without savepoints; failures in brackets. */
  log(): string[];
  statements(): string[];
}

/**
 * Group commit over a connection without a database. The text "fail" fails; "lost" rolls
 * everything back; a transaction with "broken" in it cannot be committed.
 */
function scene(errors: { lost?: string; broken?: string } = {}): Scene {
  const statements: string[] = [];
  let open: string[] | null = null;
  const failed = (text: string, kind = "other"): never => {
    statements.push(`(${text})`);
    throw kind === "busy"
      ? new Error("busy")
      // The tests above write kinds only.
      : new DatabaseError(kind as DatabaseError["kind"], null);
  };
  const writer: SqliteConnection = {
    get inTransaction() {
      return open !== null;
    },
    kindOf: () => "write",
    checksTime: () => false,
    run({ text }) {
      if (text === "fail") failed(text);
      if (text === "lost") {
        open = null;
        failed(text, errors.lost);
      }
      if (text === "COMMIT" && open?.includes("broken")) failed(text, errors.broken);
      statements.push(text);
      if (text.startsWith("BEGIN")) open = [];
      else if (text === "COMMIT" || text === "ROLLBACK") open = null;
      else open?.push(text);
      return { rows: [], changed: 1 };
    },
    read: () => ({ rows: [], changed: 0 }),
    takeMaxBoundLength: () => 0,
    close: () => {},
  };
  const { clock, advance } = handClock();
  const isBusy = (error: unknown) => error instanceof Error && error.message === "busy";
  const groups = new GroupCommit({
    writer,
    guard: transactionGuard(),
    busyRetry: { clock, waitLimitMs: 100, isBusy },
    translated: (error) => isBusy(error) ? new DatabaseError("unavailable", error) : error,
    committed: () => {},
    turn: null,
    requireFile: () => {},
  });
  return {
    groups,
    clock: { advance },
    statements: () => statements,
    log: () =>
      statements.filter((text) => !text.endsWith("service_job")).join(" ")
        .replaceAll("BEGIN IMMEDIATE", "\nBEGIN").trim().split(" \n"),
  };
}

async function turns(count: number): Promise<void> {
  for (let turn = 0; turn < count; turn++) await new Promise<void>(runAfterPendingIo);
}

function statement(text: string) {
  return { text, values: [] };
}

function write(groups: GroupCommit, text: string): Promise<unknown> {
  return groups.write(statement(text), "statement");
}

function pair(groups: GroupCommit, first: string, second: string): Promise<unknown> {
  return groups.transaction(async (connection) => {
    await connection.query(statement(first));
    await Promise.resolve();
    await connection.query(statement(second));
  });
}
