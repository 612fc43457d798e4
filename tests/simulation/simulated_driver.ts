import { DatabaseError, type DatabaseErrorKind } from "../../src/db/database_error.ts";
import type { Connection, Driver, QueryResult } from "../../src/db/driver.ts";
import { chain, type MaybePromise } from "../../src/runtime/maybe_promise.ts";
import type { Statement } from "../../src/sql/fragment.ts";
import type { Scheduler, StepKind } from "./scheduler.ts";

/** The driver of one simulated process: the real driver, with a step before and after each call. */
export function simulatedDriver(
  base: Driver,
  scheduler: Scheduler,
  { name, hints }: SimulatedProcess,
): Driver {
  const stepped = (connection: Connection, prefix: string): Connection => ({
    query: (statement) => runStepped(connection, statement, { scheduler, name, prefix, hints }),
  });
  const own = stepped(base, "");
  const { loneWrites } = base;
  return {
    dialect: base.dialect,
    label: base.label,
    created: base.created,
    isShared: true,
    signals: null,
    query: (statement) => own.query(statement),
    reads: (limits) => stepped(base.reads(limits), "limited "),
    ...(loneWrites === undefined ? {} : { loneWrites: stepped(loneWrites, "lone ") }),
    async transaction(work) {
      await scheduler.pass("write", `${name}: begin`);
      const begins = scheduler.fault(beginFaults, `${name}: begin`);
      if (begins !== null) throw failure("unavailable");
      const result = await base.transaction(async (connection) => {
        const result = await work(stepped(connection, "in transaction "));
        await scheduler.pass("commit", `${name}: commit`);
        const fault = scheduler.fault(commitFaults, `${name}: commit`);
        if (fault === "not committed, unknown") throw failure("unknown-outcome");
        return { result, fault };
      });
      hints.committed();
      await scheduler.pass("result", `${name}: commit`);
      if (result.fault === "committed, unknown") throw failure("unknown-outcome");
      return result.result;
    },
    onCommit: (listener) => hints.add(listener),
    close: () => Promise.resolve(),
  };
}

/** A process that uses the driver. */
export interface SimulatedProcess {
  readonly name: string;
  readonly hints: CommitHints;
}

interface Seam extends SimulatedProcess {
  readonly scheduler: Scheduler;
  readonly prefix: string;
}

function runStepped(
  connection: Connection,
  statement: Statement,
  { scheduler, name, prefix, hints }: Seam,
): MaybePromise<QueryResult> {
  const isRead = /^\s*(select|pragma|explain|with|values)\b/i.test(statement.text);
  const kind: StepKind = isRead ? "read" : "write";
  const label = `${name}: ${prefix}` + statement.text.replaceAll(/\s+/g, " ").slice(0, 60);
  const wait = scheduler.pass(kind, label);
  const isAutocommit = !isRead && prefix !== "in transaction ";
  const run = () =>
    chain(connection.query(statement), (result) => {
      if (isAutocommit) hints.committed();
      return result;
    });
  if (wait === undefined) return run();
  return wait.then(async () => {
    const fault = scheduler.fault(isAutocommit ? writeFaults : readFaults, label);
    if (fault === "unavailable") throw failure("unavailable");
    if (fault === "hangs") await scheduler.sleep(hangMs);
    const result = await run();
    await scheduler.pass("result", label);
    if (fault === "committed, unknown") throw failure("unknown-outcome");
    return result;
  });
}

/** A statement that hangs takes longer than every time limit, and then runs. */
const readFaults = ["unavailable", "hangs"] as const;
const writeFaults = ["unavailable", "hangs", "committed, unknown"] as const;
const beginFaults = ["unavailable"] as const;
const commitFaults = ["committed, unknown", "not committed, unknown"] as const;
const hangMs = 12_000;

function failure(kind: DatabaseErrorKind): DatabaseError {
  return new DatabaseError(kind, new Error("simulated"));
}

/** The listeners of one process for its commits. Each call of them is a step of its own. */
export class CommitHints {
  readonly #scheduler: Scheduler;
  readonly #listeners = new Set<() => void>();

  constructor(scheduler: Scheduler) {
    this.#scheduler = scheduler;
  }

  add(listener: () => void): () => void {
    const entry = () => listener();
    this.#listeners.add(entry);
    return () => void this.#listeners.delete(entry);
  }

  committed(): void {
    void Promise.resolve(this.#scheduler.pass("hint", "committed")).then(() => {
      for (const listener of this.#listeners) listener();
    });
  }
}
