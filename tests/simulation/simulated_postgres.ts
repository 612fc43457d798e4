import { setTimeout as realTimeout } from "node:timers";
import type { Driver, Signals } from "../../src/db/driver.ts";
import { readConnectionPlan } from "../../src/engines/postgres/connection/connection_plan.ts";
import { connectionError } from "../../src/engines/postgres/connection/open_socket.ts";
import { ServerChoice } from "../../src/engines/postgres/connection/server_choice.ts";
import type {
  KeepRow,
  PostgresConnection,
  PostgresResult,
  PostgresSession,
  ScheduledRead,
  TextRow,
} from "../../src/engines/postgres/driver/postgres_connection.ts";
import { postgresDriver } from "../../src/engines/postgres/driver/postgres_driver.ts";
import {
  PostgresJsConnection,
  type PostgresJsConnectionOptions,
} from "../../src/engines/postgres/driver/postgres_js_connection.ts";
import { openPostgres } from "../../src/engines/postgres/driver/postgres_js_driver.ts";
import { postgresOptionRules } from "../../src/engines/postgres/driver/postgres_options.ts";
import type { Scheduler, StepKind } from "./scheduler.ts";
import type { SimulatedProcess } from "./simulated_driver.ts";

interface RunningStatement {
  readonly pid: string | null;
  isDone: boolean;
  /** True while the statement waits for a lock that another transaction holds. */
  isBlocked: boolean;
}

/** A real Postgres server, whose statements run one after the other, in the scheduler's order. */
export class SimulatedPostgres {
  readonly scheduler: Scheduler;
  readonly #url: string;
  readonly #monitor: Driver;
  readonly #running = new Set<RunningStatement>();
  readonly #listeners = new Set<() => void>();
  #ended = Promise.withResolvers<void>();

  private constructor(url: string, scheduler: Scheduler, monitor: Driver) {
    this.#url = url;
    this.scheduler = scheduler;
    this.#monitor = monitor;
    scheduler.untilOthersWait = () => this.#untilAllWait();
  }

  static async open(url: string, scheduler: Scheduler): Promise<SimulatedPostgres> {
    const monitor = await openPostgres(url, { maxConnections: 1, maxReadConnections: 1 });
    return new SimulatedPostgres(url, scheduler, monitor);
  }

  /** Opens the driver of one process. */
  async openDriver(process: SimulatedProcess): Promise<Driver> {
    const plan = await readConnectionPlan(this.#url, () => undefined);
    const { clock } = this.scheduler;
    const options: PostgresJsConnectionOptions = {
      ...{ plan, clock, choice: new ServerChoice(plan, false) },
      options: postgresOptionRules.read({}, { subject: "Cannot simulate", path: "" }),
      listeners: { count: 0 },
      alterations: { count: 0 },
    };
    const driver = postgresDriver({
      label: process.name,
      sessions: Array.from({ length: sessionsOfProcess }, () => this.#session(options, process)),
      maxReads: 2,
      waitLimitMs: 5_000,
      clock,
      isShared: true,
      signals: this.#signals(process),
      close: () => Promise.resolve(),
    });
    driver.onCommit(() => process.hints.committed());
    Object.defineProperty(driver, "onCommit", {
      value: (listener: () => void) => process.hints.add(listener),
    });
    return driver;
  }

  async close(): Promise<void> {
    await this.#monitor.close();
  }

  /** Tracks a statement until it has ended. `pid` is the backend of its connection. */
  async track<T>(pid: string | null, work: Promise<T>): Promise<T> {
    const statement = { pid, isDone: false, isBlocked: false };
    this.#running.add(statement);
    try {
      return await work;
    } finally {
      this.#running.delete(statement);
      // The end of a transaction releases locks.
      for (const one of this.#running) one.isBlocked = false;
      this.scheduler.noteActivity();
      this.#ended.resolve();
    }
  }

  /** Resolves when the server has closed the connection of a backend. */
  async untilGone(pid: string | null): Promise<void> {
    const text = "SELECT 1 FROM pg_stat_activity WHERE pid::text = $1";
    while (pid !== null) {
      const { rows } = await this.#monitor.query({ text, values: [pid] });
      if (rows.length === 0) return;
      await pause();
    }
  }

  /** Waits until each statement has ended or waits for a lock. Returns false if none was running. */
  async #untilAllWait(): Promise<boolean> {
    const unsettled = () => [...this.#running].filter(({ isBlocked }) => !isBlocked);
    if (unsettled().length === 0) return false;
    for (let some = unsettled(); some.length > 0; some = unsettled()) {
      this.#ended = Promise.withResolvers();
      const hasEnded = await Promise.race([
        this.#ended.promise.then(() => true),
        pause().then(() => false),
      ]);
      if (hasEnded) continue;
      const { rows } = await this.#monitor.query({
        text: "SELECT DISTINCT pid::text FROM pg_locks WHERE NOT granted",
        values: [],
      });
      const blocked = new Set(rows.map(([pid]) => String(pid)));
      for (const one of some) one.isBlocked = one.pid !== null && blocked.has(one.pid);
    }
    return true;
  }

  #session(options: PostgresJsConnectionOptions, process: SimulatedProcess): PostgresSession {
    let connection: SimulatedConnection | null = null;
    return {
      connection: () => {
        if (connection === null || connection.lost) {
          connection = new SimulatedConnection(this, new PostgresJsConnection(options), process);
        }
        return connection;
      },
      close: async () => await connection?.close(),
    };
  }

  /** The signals of NOTIFY: they reach other processes late, or never. */
  #signals({ name }: SimulatedProcess): Signals {
    return {
      listen: (onSignal) => {
        const listener = () => onSignal(false);
        this.#listeners.add(listener);
        return {
          send: () => {
            const others = [...this.#listeners].filter((one) => one !== listener);
            for (const other of others) void this.#deliver(name, other);
          },
          close: () => {
            this.#listeners.delete(listener);
            return Promise.resolve();
          },
        };
      },
    };
  }

  async #deliver(name: string, listener: () => void): Promise<void> {
    const { scheduler } = this;
    await scheduler.pass("hint", `${name}: notify`);
    if (scheduler.fault(["lost"], `${name}: notify`) === null) listener();
  }
}

/** A connection whose statements are sent in steps of the scheduler. */
class SimulatedConnection implements PostgresConnection {
  opening: Promise<void> | null;
  readonly #server: SimulatedPostgres;
  readonly #inner: PostgresJsConnection;
  readonly #name: string;
  #pid: string | null = null;
  #last: Promise<unknown>;

  constructor(server: SimulatedPostgres, inner: PostgresJsConnection, { name }: SimulatedProcess) {
    this.#server = server;
    this.#inner = inner;
    this.#name = name;
    this.opening = server.track(null, this.#open());
    this.opening.catch(() => {});
    this.#last = this.opening.catch(() => {});
  }

  get lost(): boolean {
    return this.#inner.lost;
  }

  run(text: string, values: TextRow): Promise<PostgresResult> {
    return this.read(text, values, () => true).result;
  }

  read(text: string, values: TextRow, keep: KeepRow): ScheduledRead {
    const result = this.#send(text, () => this.#inner.read(text, values, keep).result);
    return { result, cancel: () => Promise.resolve(this.drop()) };
  }

  end(command: "COMMIT" | "ROLLBACK"): Promise<PostgresResult> {
    return this.#send(command, () => this.#inner.end(command));
  }

  drop(): void {
    if (this.lost) return;
    this.#inner.drop();
    // A backend that waits for a lock notices the loss only once it has the lock.
    void this.#server.track(this.#pid, this.#server.untilGone(this.#pid));
  }

  async close(): Promise<void> {
    await this.#inner.close();
  }

  async #open(): Promise<void> {
    await this.#inner.opening;
    const { rows } = await this.#inner.run("SELECT pg_backend_pid()", []);
    this.#pid = rows[0]?.[0] ?? null;
    this.opening = null;
  }

  /** Sends a statement after the statements before it, as a connection does. */
  #send(text: string, send: () => Promise<PostgresResult>): Promise<PostgresResult> {
    const sent = this.#last.then(() => this.#step(text, send));
    this.#last = sent.catch(() => {});
    return sent;
  }

  async #step(text: string, send: () => Promise<PostgresResult>): Promise<PostgresResult> {
    const { scheduler } = this.#server;
    const isCommit = text === "COMMIT";
    const kind: StepKind = isCommit ? "commit" : /^\s*select\b/i.test(text) ? "read" : "write";
    const label = `${this.#name}: ${text.replaceAll(/\s+/g, " ").slice(0, 60)}`;
    await scheduler.pass(kind, label);
    const fault = this.lost ? null : scheduler.fault(connectionFaults, label);
    if (fault === "lost before") this.drop();
    if (fault === "hangs") await scheduler.sleep(hangMs);
    const result = await this.#server.track(this.#pid, send());
    if (fault === "lost after") {
      this.drop();
      throw connectionError("CONNECTION_CLOSED", "was lost");
    }
    await scheduler.pass("result", label);
    return result;
  }
}

/** The connection is lost before the statement is sent, or before its response arrives. */
const connectionFaults = ["lost before", "lost after", "hangs"] as const;
const hangMs = 12_000;

const sessionsOfProcess = 4;

/** Waits in the time of the machine, which changes no step: the next steps only begin later. */
function pause(): Promise<void> {
  return new Promise((resolve) => realTimeout(resolve, 2));
}
