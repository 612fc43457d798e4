import { AsyncLocalStorage } from "node:async_hooks";
import { schemaVersion } from "../../db/tables/schema_version.ts";
import { DatabaseError } from "../../db/database_error.ts";
import { Problem } from "../../problem/problem.ts";
import type { Observation } from "../../runtime/observation.ts";
import { randomDelayBetween } from "../../runtime/jitter.ts";
import type { Runtime } from "../../runtime/runtime.ts";
import type { OpenService } from "../run_service.ts";
import { onHangUp } from "../stop_signals.ts";
import { type DescribedTables, tableChanges } from "./described_tables.ts";
import { type ReopeningApp, reopeningApp } from "./reopening_app.ts";

/** The options for a service that checks its tables and opens again after a change. */
export interface ReopeningOptions {
  /** Opens the service with the current tables. */
  readonly open: (runtime: Runtime, isFirst: boolean) => Promise<OpenService>;
  /** True to check the tables every few seconds, and not only after signals and failures. */
  readonly watches: boolean;
  /** True if this process handles SIGHUP. */
  readonly takesSignals: boolean;
  readonly runtime: Runtime;
}

/**
 * Opens a service for the tables of a database, and opens the service again when the tables have
 * changed. New requests go to the next app as soon as that app is open. If the changed tables
 * cannot be served, the previous app continues.
 */
export async function openReopening(options: ReopeningOptions): Promise<OpenService> {
  const service = new ReopeningService(options);
  return await service.start();
}

class ReopeningService {
  readonly #options: ReopeningOptions;
  /** Runs checks outside a request's transaction, which only the request's own code may use. */
  readonly #outside = AsyncLocalStorage.snapshot();
  /** The runtime of the apps. Its observer notices failed statements. */
  readonly #runtime: Runtime;
  #opened: OpenService | null = null;
  #reopening: ReopeningApp | null = null;
  #known: DescribedTables = new Map();
  /** How the current app has set up the recording of changes. */
  #installed = "";
  /** The schema version at the last check, or null if the database did not respond. */
  #version: string | null = null;
  /** The check that a failure has caused, or null. */
  #checkOfFailure: Promise<void> | null = null;
  /** The running comparison of the tables, or null. It may open the service again. */
  #comparing: Promise<void> | null = null;
  /** True if the next check must open the service again, even without a change. */
  #isAsked = false;
  #lastCheck = Promise.resolve();
  #nextCheck: Promise<void> | null = null;
  /** The earliest time for the next check. */
  #checksFrom = -Infinity;
  /** The time until which the tables are watched, by the monotonic clock. */
  #watchedUntil = -Infinity;
  #cancelWatch = () => {};
  #isClosed = false;

  constructor(options: ReopeningOptions) {
    this.#options = options;
    const { runtime } = options;
    const outside = this.#outside;
    this.#runtime = {
      ...runtime,
      observe: (observation) => {
        runtime.observe(observation);
        if (!mayBeOfChange(observation)) return;
        this.#checkOfFailure ??= outside(() => this.#check()).finally(() =>
          this.#checkOfFailure = null
        );
      },
    };
  }

  async start(): Promise<OpenService> {
    const { takesSignals, watches } = this.#options;
    const opened = await this.#open(true);
    if (opened.service.describe === undefined) return opened;
    this.#opened = opened;
    this.#version = await this.#readVersion();
    this.#known = await opened.service.describe();
    this.#installed = await opened.service.installed?.() ?? "";
    const reopening = reopeningApp(opened.app, {
      ended: () => this.#ended(this.#checkOfFailure),
      version: () => this.#version,
      current: () => this.#check(),
    });
    this.#reopening = reopening;
    const stopSignals = takesSignals ? onHangUp(() => this.#reopen(), stopProcess) : () => {};
    if (watches) this.#watchedUntil = Infinity;
    this.#watch();
    const { app } = reopening;
    const close = async () => {
      this.#isClosed = true;
      this.#cancelWatch();
      stopSignals();
      await this.#comparing;
      await app.close();
    };
    return { ...opened, app: { ...app, close }, current: () => this.#check() };
  }

  #reopen(): void {
    this.#isAsked = true;
    void this.#check();
  }

  /** Opens the service. Its runtime reports whether another service has replaced this service. */
  async #open(isFirst: boolean): Promise<OpenService> {
    let opened: OpenService | null = null;
    const tablesChanged = async () => {
      await this.#outside(() => this.#check());
      // Opening the new service may take longer than a request may wait.
      const isReplaced = this.#opened !== null && this.#opened !== opened;
      return isReplaced || this.#comparing !== null;
    };
    opened = await this.#options.open({ ...this.#runtime, tablesChanged }, isFirst);
    return opened;
  }

  /** Resolves when a running check has ended, or when the request must not wait longer. */
  async #ended(check: Promise<void> | null): Promise<void> {
    if (check === null) return;
    const late = Promise.withResolvers<void>();
    const cancel = this.#runtime.clock.after(maxWaitMs, late.resolve);
    await Promise.race([check, late.promise]);
    cancel();
  }

  #watch(): void {
    this.#cancelWatch();
    const { clock } = this.#runtime;
    if (this.#isClosed || clock.elapsedMs() > this.#watchedUntil) return;
    const waitMs = randomDelayBetween(this.#runtime, watchMs, 1.5 * watchMs);
    this.#cancelWatch = clock.after(waitMs, async () => {
      await this.#check();
      this.#watch();
    });
  }

  /** Returns the schema version, or null if the database does not respond. */
  async #readVersion(): Promise<string | null> {
    const db = this.#opened?.service.config.db;
    try {
      return db === undefined ? null : await schemaVersion(db.driver);
    } catch {
      return null;
    }
  }

  /**
   * Checks the tables if the schema version has changed. Any client can cause version checks, so
   * one check runs at a time, and the checks take at most 10 % of the time. A running check may
   * have started before the tables changed, so new requests wait for the next check.
   */
  #check(): Promise<void> {
    return this.#nextCheck ??= this.#checkAfter(this.#lastCheck);
  }

  async #checkAfter(last: Promise<void>): Promise<void> {
    await last;
    const { clock } = this.#runtime;
    const pauseMs = this.#checksFrom - clock.elapsedMs();
    if (pauseMs > 0) await new Promise<void>((resolve) => clock.after(pauseMs, resolve));
    this.#lastCheck = this.#checkVersion();
    this.#nextCheck = null;
    await this.#lastCheck;
  }

  async #checkVersion(): Promise<void> {
    const { clock } = this.#runtime;
    const from = clock.elapsedMs();
    const now = await this.#readVersion();
    const to = clock.elapsedMs();
    this.#checksFrom = to + Math.min(9 * (to - from), maxRestMs);
    const isOther = this.#isAsked || (now !== null && now !== this.#version);
    if (isOther && !this.#isClosed) this.#comparing ??= this.#compareTables(now);
    // An earlier check may have started the comparison.
    await this.#ended(this.#comparing);
  }

  async #compareTables(version: string | null): Promise<void> {
    try {
      await this.#compare(version);
    } catch (error) {
      // The next check compares again, after a longer rest.
      this.#version = null;
      this.#checksFrom = this.#runtime.clock.elapsedMs() + restAfterFailureMs;
      this.#options.runtime.observe({ kind: "tables_unread", error });
    } finally {
      this.#comparing = null;
    }
  }

  /** Compares the tables. The version was read before, so the next check finds a later change. */
  async #compare(version: string | null): Promise<void> {
    const service = this.#opened?.service;
    const isAsked = this.#isAsked;
    this.#isAsked = false;
    this.#version = version;
    const now = await service?.describe?.() ?? this.#known;
    const installed = await service?.installed?.() ?? "";
    const changes = tableChanges(this.#known, now);
    const differs = installed !== this.#installed ||
      Object.values(changes).some((names) => names.length > 0);
    if (!differs && !isAsked) return;
    const next = await this.#open(false);
    this.#opened = next;
    this.#known = now;
    this.#installed = await next.service.installed?.() ?? "";
    // A migration often has several transactions, so a missing table may soon exist again.
    const until = this.#runtime.clock.elapsedMs() + migrationMs;
    this.#watchedUntil = Math.max(this.#watchedUntil, until);
    this.#watch();
    this.#reopening?.replaceBy(next);
    this.#options.runtime.observe({ kind: "tables_changed", ...changes });
  }
}

/** Stops the process after its terminal was closed. */
function stopProcess(): void {
  Deno.kill(Deno.pid, "SIGTERM");
}

/** Returns true if a change of the tables may be the reason of an observed failure. */
function mayBeOfChange(observation: Observation): boolean {
  // An invalid stored value may mean that the column now has another type.
  if (observation.kind === "value_does_not_fit") return true;
  let error: unknown = "error" in observation ? observation.error : null;
  for (let depth = 0; error instanceof Error && depth < 5; depth++, error = error.cause) {
    // If no statement failed, an earlier check has already found this change.
    const isFound = error instanceof Problem && error.slug === "schema-changed";
    if (isFound && error.cause instanceof DatabaseError) return true;
    if (error instanceof DatabaseError && error.kind === "other") return true;
  }
  return false;
}

const watchMs = 2_000;
const maxRestMs = 200;
/** The rest after a comparison that failed, in milliseconds. */
const restAfterFailureMs = 1_000;
/** How long the service watches the tables after a change, in milliseconds. */
const migrationMs = 60_000;
/** How long a failed request waits for a check, in milliseconds. */
const maxWaitMs = 2_000;
