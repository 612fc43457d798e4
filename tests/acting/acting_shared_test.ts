/**
 * With `actAs`, concurrent quick reads of one identity share a transaction, and transactions of
 * several identities follow each other on one connection. Each statement in turn has a fault.
 */
import { assert, assertEquals } from "@std/assert";
import { postgresDriver } from "../../src/engines/postgres/driver/postgres_driver.ts";
import type {
  PostgresConnection,
  PostgresResult,
} from "../../src/engines/postgres/driver/postgres_connection.ts";
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
    let open: Transaction | null = null;
    let unanswered = 0;
    let last: Promise<unknown> = Promise.resolve();
    this.isIdle.push(() => lost || open === null);
    /** Answers statements in their order, each some time after the last one. */
    const run = (text: string, values: readonly (string | null)[]): Promise<PostgresResult> => {
      unanswered++;
      const waits = this.fault === "waits" && this.left === 1 ? this.waiting.promise : null;
      const result = execute(text, values);
      const own = Promise.allSettled([result, last, waits]).then(() => {
        unanswered--;
        return result;
      });
      last = own.catch(() => {});
      return own;
    };
    const execute = (text: string, values: readonly (string | null)[]): Promise<PostgresResult> => {
      this.sent.push(text);
      const fault = --this.left === 0 ? this.fault : null;
      const error = (code: string) => {
        if (open !== null && fault !== "is lost") open.isAborted = true;
        return Promise.reject(Object.assign(new Error(text), { code }));
      };
      if (fault === "fails" || fault === "is lost") return error("57014");
      const [command = ""] = text.split(" ");
      if (command === "COMMIT" || command === "ROLLBACK") {
        const isUndone = command === "ROLLBACK" || open?.isAborted === true ||
          fault === "is answered by ROLLBACK";
        if (open !== null) open.isCommitted = !isUndone;
        open = null;
        return Promise.resolve(answer(isUndone ? "ROLLBACK" : "COMMIT"));
      }
      if (open?.isAborted === true) return error("25P02");
      if (command === "BEGIN") {
        // In a transaction, the server only warns.
        open ??= { settings: new Map(), isAborted: false, isCommitted: false };
      } else if (text.includes("set_config")) {
        const names = ["role", ...values.slice(1).filter((_one, n) => n % 2 === 0)];
        const given = [values[0], ...values.slice(1).filter((_one, n) => n % 2 === 1)];
        names.forEach((name, n) => open?.settings.set(name ?? "", given[n] ?? ""));
      } else {
        const seen = JSON.stringify([...open?.settings ?? []]);
        return Promise.resolve(answer(command, [[seen, String(this.read.push(open) - 1)]]));
      }
      return Promise.resolve(answer(command));
    };
    const connection: PostgresConnection = {
      opening: null,
      get lost() {
        return lost;
      },
      run,
      read: (text, values, keep) => ({
        result: run(text, values).then((result) => {
          assert(result.rows.every(keep));
          return result;
        }),
        cancel: () => Promise.resolve(),
      }),
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

/** Sends 20 reads together, where the n-th statement has a fault. */
async function readTogether(how: keyof typeof readers, at: number, fault: Fault) {
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
  const before = server.sent.length;
  Object.assign(server, { left: at, fault });
  const endWait = after(5_000, server.waiting.resolve);
  const results = await Promise.all(Array.from({ length: 20 }, async (_one, n) => {
    const identity = identities[n % identities.length]!;
    // A driver for each read, as for each request.
    const { rows: [[seen, place] = []] } = await readers[how](as(structuredClone(identity)));
    return { identity, seen, transaction: server.read[Number(place)] };
  }));
  for (const { identity: { role, settings }, seen, transaction } of results) {
    const right = JSON.stringify([["role", role], ...Object.entries(settings)]);
    assertEquals(seen, right, `statement ${at} ${fault}`);
    assert(transaction?.isCommitted, `statement ${at} ${fault}: given out without a commit`);
  }
  endWait();
  server.waiting.resolve();
  await new Promise((resolve) => setTimeout(resolve, 0));
  assert(server.isIdle.every((isIdle) => isIdle()), `statement ${at} ${fault}: it is still open`);
  return server.sent.slice(before);
}

for (const [how] of Object.entries(readers) as [keyof typeof readers, unknown][]) {
  Deno.test(`reads ${how} share the transactions of their identity`, async () => {
    const sent = await readTogether(how, Infinity, "fails");
    const begun = sent.filter((text) => text === "BEGIN").length;
    assertEquals(sent.filter((text) => text === select.text).length, 20);
    // The first two reads are sent before the others have arrived.
    assert(begun <= 2 + identities.length, `${begun} transactions`);
    assertEquals(sent.length, 20 + 3 * begun);
  });

  for (const fault of ["fails", "is lost", "is answered by ROLLBACK"] as const) {
    Deno.test(`reads ${how} have their identity when a statement ${fault}`, async () => {
      const { length } = await readTogether(how, Infinity, fault);
      let repeated = 0;
      for (let at = 1; at <= length; at++) {
        repeated += (await readTogether(how, at, fault)).length - length;
      }
      assert(repeated > 0);
    });
  }

  Deno.test(`reads ${how} run again if a COMMIT is not answered in time`, async () => {
    const sent = await readTogether(how, 4, "waits");
    assertEquals(sent.slice(0, 4).map((text) => text.split(" ")[0]), [
      "BEGIN",
      "SELECT",
      "SELECT",
      "COMMIT",
    ]);
    assert(sent.filter((text) => text === select.text).length > 20);
  });
}
