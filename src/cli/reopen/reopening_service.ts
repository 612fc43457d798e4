import { AsyncLocalStorage } from "node:async_hooks";
import { schemaVersion } from "../../db/tables/schema_version.ts";
import type { SignalChannel } from "../../db/driver.ts";
import { DatabaseError } from "../../db/database_error.ts";
import { Problem } from "../../problem/problem.ts";
import { type Observation, randomDelayBetween, type Runtime } from "../../runtime/runtime.ts";
import type { OpenService } from "../run_service.ts";
import { pageErrorName } from "../../service/web/web_files.ts";
import { onHangUp } from "../../listen/stop_signals.ts";
import { tableChanges, type TableStates } from "./table_states.ts";
import { reopeningApp, type ReplaceableApp } from "./replaceable_app.ts";
import { isInProduction } from "../../runtime/production.ts";
import { isRandomSecret } from "../../runtime/resolve_secrets.ts";
import type { CliService } from "../cli_service.ts";

interface ReopeningOptions {
  readonly open: (runtime: Runtime, isFirst: boolean) => Promise<OpenService>;
  /** True to check the tables every few seconds; false to check only after signals and failures. */
  readonly watches: boolean;
  /** True if this process handles SIGHUP. */
  readonly takesSignals: boolean;
  readonly runtime: Runtime;
}

/** Opens a new app after a change of the tables. If this fails, the old app continues. */
export async function openReopening(options: ReopeningOptions): Promise<OpenService> {
  const service = new ReopeningService(options);
  return await service.start();
}

class ReopeningService {
  readonly #options: ReopeningOptions;
  /** Runs checks outside of a request's async context, so not in the request's transaction. */
  readonly #outside = AsyncLocalStorage.snapshot();
  /** The runtime of the apps. Its observer starts a check after a failed statement. */
  readonly #runtime: Runtime;
  #opened: OpenService | null = null;
  #reopening: ReplaceableApp | null = null;
  #known: TableStates = new Map();
  /** The fingerprint of the triggers that record changes for the current app. */
  #installed = "";
  /** The schema version at the last check; null if the database did not respond. */
  #version: string | null = null;
  #checkOfFailure: Promise<void> | null = null;
  /** The table comparison in progress, or null. A comparison opens a new app after a change. */
  #comparing: Promise<void> | null = null;
  /** True if the next check must open a new app, even if the schema version has not changed. */
  #isAsked = false;
  #lastCheck = Promise.resolve();
  #nextCheck: Promise<void> | null = null;
  /** The earliest monotonic time of the next check. */
  #checksFrom = -Infinity;
  #watchedUntil = -Infinity;
  #cancelWatch = () => {};
  #channel: Pick<SignalChannel, "close"> | undefined;
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
    const stopSignals = takesSignals
      ? onHangUp(() => this.#reopen(), () => Deno.kill(Deno.pid, "SIGTERM"))
      : () => {};
    if (watches) this.#watchedUntil = Infinity;
    this.#watch();
    this.#listen(opened);
    const { app } = reopening;
    const close = async () => {
      this.#isClosed = true;
      this.#cancelWatch();
      stopSignals();
      await this.#channel?.close();
      await this.#nextCheck;
      await this.#comparing;
      await app.close();
    };
    // The app's own `hangUp` is removed: at SIGHUP, a new app opens and reads the page's files.
    return { ...opened, app: { ...app, close, hangUp: undefined }, current: () => this.#check() };
  }

  #reopen(): void {
    this.#isAsked = true;
    void this.#check();
  }

  #listen({ service }: OpenService): void {
    const before = this.#channel;
    const check = () => void this.#outside(() => this.#check());
    this.#channel = service.config.db.driver.schemaSignals?.listen(check);
    void before?.close();
  }

  /** Opens an app. The app calls `tablesChanged` to ask if its tables may be outdated. */
  async #open(isFirst: boolean): Promise<OpenService> {
    let opened: OpenService | null = null;
    const tablesChanged = async () => {
      await this.#outside(() => this.#check());
      // While a comparison runs, it may be opening the next app. This app then counts as outdated.
      const isReplaced = this.#opened !== null && this.#opened !== opened;
      return isReplaced || this.#comparing !== null;
    };
    opened = await this.#options.open({ ...this.#runtime, tablesChanged }, isFirst);
    return opened;
  }

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

  async #readVersion(): Promise<string | null> {
    const db = this.#opened?.service.config.db;
    try {
      return db === undefined ? null : await schemaVersion(db.driver);
    } catch {
      return null;
    }
  }

  /**
   * Returns the next check. A running check may have begun before the tables changed, so callers do
   * not share it. Any client can cause checks, so only one runs at a time, with a pause after each.
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
    // Also waits for a comparison that an earlier check has started.
    await this.#ended(this.#comparing);
  }

  async #compareTables(version: string | null): Promise<void> {
    try {
      await this.#compare(version);
    } catch (error) {
      // After null, any version counts as a change: the next check compares, after a pause.
      this.#version = null;
      this.#checksFrom = this.#runtime.clock.elapsedMs() + restAfterFailureMs;
      this.#options.runtime.observe(
        error instanceof Error && error.name === pageErrorName
          ? { kind: "notice", message: error.message.replace("Cannot start:", kept) }
          : { kind: "tables_unread", error },
      );
    } finally {
      this.#comparing = null;
    }
  }

  /** Opens a new app if the tables changed. The next check finds changes after `version`. */
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
    // A migration can have several transactions, so the tables are checked often for a while.
    const until = this.#runtime.clock.elapsedMs() + migrationMs;
    this.#watchedUntil = Math.max(this.#watchedUntil, until);
    this.#watch();
    this.#reopening?.replaceBy(next);
    if (!this.#isClosed) this.#listen(next);
    if (differs) this.#options.runtime.observe({ kind: "tables_changed", ...changes });
  }
}

function mayBeOfChange(observation: Observation): boolean {
  // A value that does not fit can mean that the type of its column has changed.
  if (observation.kind === "value_does_not_fit") return true;
  let error: unknown = "error" in observation ? observation.error : null;
  for (let depth = 0; error instanceof Error && depth < 5; depth++, error = error.cause) {
    // Without a DatabaseError, this problem is the result of a check, so no other check is needed.
    const isFound = error instanceof Problem && error.slug === "schema-changed";
    if (isFound && error.cause instanceof DatabaseError) return true;
    if (error instanceof DatabaseError && error.kind === "other") return true;
  }
  return false;
}

/** The beginning of the notice if no new app can open because the page is missing. */
const kept = "the service and its page stay as they are:";

const watchMs = 2_000;
const maxRestMs = 200;
/** Milliseconds between a failed comparison and the next one. */
const restAfterFailureMs = 1_000;
/** For this time after a change, in ms, the tables are checked again every few seconds. */
const migrationMs = 60_000;
/** How long a failed request waits for a check, in milliseconds. */
const maxWaitMs = 2_000;

interface SharedSecret {
  readonly secret: string;
  /** Completes "cursors end with …" in the notice that secrets are random. Null for no notice. */
  readonly endsWith: string | null;
}

/** Sets missing secrets to values that all apps share. Production requires real secrets. */
export function withSharedSecrets(
  config: CliService["config"],
  { secret, endsWith }: SharedSecret,
  runtime: Runtime,
): CliService["config"] {
  const { environment, observe } = runtime;
  if (isInProduction(config.env, runtime)) return config;
  const [variable] = secrets;
  if (endsWith !== null && isRandomSecret({ given: config.secret, variable }, runtime)) {
    const message = `no secret is set: cursors end with ${endsWith} (set ${variable})`;
    observe({ kind: "notice", message });
  }
  return {
    ...config,
    runtime: {
      ...runtime,
      // An empty string counts as unset, because shell scripts often clear a variable.
      environment: (name) =>
        environment(name) || (secrets.includes(name) ? `${name} ${secret}` : undefined),
    },
  };
}

const secrets: readonly [string, string] = ["SERVICE_SECRET", "SERVICE_POW_SECRET"];
