/**
 * With `actAs`, concurrent quick reads follow each other on one connection. Each read is one message
 * that takes its identity. Each statement and each message in turn has a fault.
 */
import { assert, assertEquals } from "@std/assert";
import { postgresDriver } from "../../src/engines/postgres/driver/postgres_driver.ts";
import type {
  PostgresConnection,
  PostgresResult,
} from "../../src/engines/postgres/driver/postgres_connection.ts";
import type { BoundStatement } from "../../src/engines/postgres/driver/prepared_statements.ts";
import type { DatabaseIdentity, Driver } from "../../src/db/driver.ts";
import { systemClock } from "../../src/runtime/system_runtime.ts";

/** `fails` is an error of the server. After `is lost`, the server has never seen the statement. */
type Fault = "fails" | "is lost" | "is answered by ROLLBACK" | "waits";

/** What the statements on one connection belong to. */
interface Transaction {
  readonly settings: Map<string, string>;
  isAborted: boolean;
  isCommitted: boolean;
}

/** A server that knows transactions and identities, where the n-th statement has a fault. */
class FaultyServer {
  readonly sent: string[] = [];
  /** The transactions of the rows that were read, by the number in the row. */
  readonly read: (Transaction | null)[] = [];
  /** The number of statements until the one that has the fault. */
  left = Infinity;
  fault: Fault = "fails";
  /** Resolves when a statement that waits is answered. */
  readonly waiting: PromiseWithResolvers<void> = Promise.withResolvers();
  /** Functions that return true if no transaction is open on a connection. */
  readonly isIdle: (() => boolean)[] = [];

  /** Returns a connection, and the number of its statements without an answer. */
  connection() {
    let lost = false;
    const prepared = new Set<string>();
    let open: Transaction | null = null;
    let unanswered = 0;
    let last: Promise<unknown> = Promise.resolve();
    this.isIdle.push(() => lost || open === null);
    /** Answers statements and messages in their order, each some time after the last one. */
    const answered = (execute: () => Promise<PostgresResult>): Promise<PostgresResult> => {
      unanswered++;
      const waits = this.fault === "waits" && this.left === 1 ? this.waiting.promise : null;
      const result = execute();
      const own = Promise.allSettled([result, last, waits]).then(() => {
        unanswered--;
        return result;
      });
      last = own.catch(() => {});
      return own;
    };
    const taken = (values: readonly (string | null)[], settings: Map<string, string>) => {
      for (let n = 0; n < values.length; n += 2) settings.set(values[n] ?? "", values[n + 1] ?? "");
    };
    const rowsOf = (transaction: Transaction | null) => [[
      JSON.stringify([...transaction?.settings ?? []]),
      String(this.read.push(transaction) - 1),
    ]];
    const fails = (text: string, isSeen: boolean) => {
      if (open !== null && isSeen) open.isAborted = true;
      return Promise.reject(Object.assign(new Error(text), { code: "57014" }));
    };
    const execute = (text: string, values: readonly (string | null)[]): Promise<PostgresResult> => {
      this.sent.push(text);
      const fault = --this.left === 0 ? this.fault : null;
      if (fault === "fails" || fault === "is lost") return fails(text, fault === "fails");
      const [command = ""] = text.split(" ");
      if (command === "COMMIT" || command === "ROLLBACK") {
        const isUndone = command === "ROLLBACK" || open?.isAborted === true ||
          fault === "is answered by ROLLBACK";
        if (open !== null) open.isCommitted = !isUndone;
        open = null;
        return Promise.resolve(answer(isUndone ? "ROLLBACK" : "COMMIT"));
      }
      if (open?.isAborted === true) return fails(text, true);
      prepared.add(text);
      if (command === "BEGIN") {
        // In a transaction, the server only warns.
        open ??= { settings: new Map(), isAborted: false, isCommitted: false };
      } else if (!text.includes("set_config")) {
        return Promise.resolve(answer(command, rowsOf(open)));
      } else if (open !== null) taken(values, open.settings);
      return Promise.resolve(answer(command));
    };
    /** A message is a transaction, unless another one is open: then it is a part of that one. */
    const executeMessage = (first: BoundStatement): Promise<PostgresResult> => {
      this.sent.push("a message");
      const fault = --this.left === 0 ? this.fault : null;
      const isFaulty = fault === "fails" || fault === "is lost";
      if (isFaulty || open?.isAborted === true) return fails("a message", fault !== "is lost");
      const own = open ?? { settings: new Map(), isAborted: false, isCommitted: true };
      taken(first.values, own.settings);
      return Promise.resolve(answer("SELECT", rowsOf(own)));
    };
    const kept = (result: Promise<PostgresResult>, keep: (row: string[]) => boolean) => ({
      result: result.then((all) => {
        assert(all.rows.every((row) => keep(row as string[])));
        return all;
      }),
      cancel: () => Promise.resolve(),
    });
    const connection: PostgresConnection = {
      opening: null,
      get lost() {
        return lost;
      },
      run: (text, values) => answered(() => execute(text, values)),
      end: (command) => answered(() => execute(command, [])),
      read: (text, values, keep) => kept(answered(() => execute(text, values)), keep),
      readAfter(first, statement, keep) {
        const isPrepared = prepared.has(first.text) && prepared.has(statement.text);
        return isPrepared ? kept(answered(() => executeMessage(first)), keep) : null;
      },
      drop: () => void (lost = true),
    };
    return { connection, unanswered: () => unanswered };
  }
}

function answer(command: string, rows: string[][] = []): PostgresResult {
  return { rows, command, count: rows.length, columns: [] };
}

const select = { text: "SELECT secret FROM notes", values: [], isSingle: true };
const limits = {
  identity: "u",
  signal: new AbortController().signal,
  maxBytes: 10_000,
  timeoutMs: 60_000,
};
const readers = {
  "by key": (driver: Driver) => driver.query(select),
  "of a request": async (driver: Driver) => await driver.reads(limits).query(select),
};

/** Identities that a key without care would take for the same, or that have more settings. */
const identities: readonly DatabaseIdentity[] = [
  { role: "member", settings: { a: "1", b: "2" } },
  { role: "member", settings: { a: '1","b":"2' } },
  { role: "member", settings: { a: "1" } },
  { role: "other", settings: { a: "1" } },
  { role: 'member","a', settings: {} },
];

/** Unlike the timers of the service, these keep the test running. */
function after(ms: number, run: () => void): () => void {
  const timer = setTimeout(run, ms);
  return () => clearTimeout(timer);
}

/** After so many rounds, the connections in use have prepared the statements of each role. */
const enough = 10;

/** Which statement or message of 20 reads together has which fault. */
interface Trial {
  readonly how: keyof typeof readers;
  /** How often 20 reads were sent before. The first ones find their statements not prepared. */
  readonly rounds: number;
  readonly at: number;
  readonly fault: Fault;
}

/** Sends 20 reads together, where the n-th statement or message has a fault. */
async function readTogether({ how, rounds, at, fault }: Trial) {
  const server = new FaultyServer();
  const driver = postgresDriver({
    label: "a faulty server",
    sessions: Array.from({ length: 5 }, () => {
      let own = server.connection();
      return {
        connection() {
          if (own.connection.lost) own = server.connection();
          assertEquals(own.unanswered(), 0, `statement ${at} ${fault}: the connection is in use`);
          return own.connection;
        },
        close: () => Promise.resolve(),
      };
    }),
    maxReads: 1,
    waitLimitMs: 60_000,
    clock: { ...systemClock, elapsedMs: () => 0, after },
    isShared: true,
    signals: null,
    pipelines: true,
    close: () => Promise.resolve(),
  });
  const as = (identity: DatabaseIdentity) => driver.as?.(identity) ?? driver;
  // The first read of a statement is alone, because its duration is not known.
  await readers[how](as(identities[0]!));
  const readAll = () =>
    Promise.allSettled(Array.from({ length: 20 }, async (_one, n) => {
      const identity = identities[n % identities.length]!;
      // A driver for each read, as for each request.
      const { rows: [[seen, place] = []] } = await readers[how](as(structuredClone(identity)));
      return { identity, seen, transaction: server.read[Number(place)] };
    }));
  for (let round = 0; round < rounds; round++) await readAll();
  const before = server.sent.length;
  Object.assign(server, { left: at, fault });
  const endWait = after(5_000, server.waiting.resolve);
  let failed = 0;
  for (const one of await readAll()) {
    if (one.status === "rejected") {
      failed++;
      continue;
    }
    const { identity: { role, settings }, seen, transaction } = one.value;
    const right = JSON.stringify([["role", role], ...Object.entries(settings)]);
    assertEquals(seen, right, `statement ${at} ${fault}`);
    assert(transaction?.isCommitted, `statement ${at} ${fault}: given out without a commit`);
  }
  // A message runs again alone, but the caller of a read that was alone has its error.
  assert(failed <= (rounds === enough ? 0 : 1), `statement ${at} ${fault}: ${failed} failed`);
  endWait();
  server.waiting.resolve();
  await new Promise((resolve) => setTimeout(resolve, 0));
  assert(server.isIdle.every((isIdle) => isIdle()), `statement ${at} ${fault}: it is still open`);
  return server.sent.slice(before);
}

for (const [how] of Object.entries(readers) as [keyof typeof readers, unknown][]) {
  Deno.test(`reads ${how} are one message each when their statements are prepared`, async () => {
    const sent = await readTogether({ how, rounds: enough, at: Infinity, fault: "fails" });
    assertEquals(sent, Array.from({ length: 20 }, () => "a message"));
  });

  for (const fault of ["fails", "is lost", "is answered by ROLLBACK"] as const) {
    Deno.test(`reads ${how} have their identity when a statement ${fault}`, async () => {
      let repeated = 0;
      for (const rounds of [0, 1, enough]) {
        const { length } = await readTogether({ how, rounds, at: Infinity, fault });
        for (let at = 1; at <= length; at++) {
          repeated += (await readTogether({ how, rounds, at, fault })).length - length;
        }
      }
      // After ROLLBACK, no transaction is open that would have to end.
      assertEquals(repeated > 0, fault !== "is answered by ROLLBACK");
    });
  }

  Deno.test(`reads ${how} run again if a message is not answered in time`, async () => {
    const sent = await readTogether({ how, rounds: enough, at: 1, fault: "waits" });
    assertEquals(sent[0], "a message");
    assert(sent.filter((text) => text.startsWith(select.text)).length > 0);
  });
}
