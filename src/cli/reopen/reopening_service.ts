import { schemaVersion } from "../../db/tables/schema_version.ts";
import { DatabaseError } from "../../db/database_error.ts";
import { Problem } from "../../problem/problem.ts";
import type { Observation } from "../../runtime/observation.ts";
import type { Runtime } from "../../runtime/runtime.ts";
import type { OpenService } from "../run_service.ts";
import { type DescribedTables, tableChanges } from "./described_tables.ts";
import { type ReopeningApp, reopeningApp } from "./reopening_app.ts";

/** How a service whose tables may change is opened, and when it looks at them again. */
export interface ReopeningOptions {
  /** Opens the service over the tables as they are. */
  readonly open: (runtime: Runtime, isFirst: boolean) => Promise<OpenService>;
  /** Looks at the tables every few seconds; else after a signal and after a failed statement. */
  readonly watches: boolean;
  /** Whether SIGHUP is for this process. */
  readonly takesSignals: boolean;
  readonly runtime: Runtime;
}

/**
 * Opens a service over the tables of a database, and again when they have changed: requests go to
 * the next app as soon as it is open. Where the tables cannot be served as they are now, the app
 * that is open stays.
 */
export async function openReopening(options: ReopeningOptions): Promise<OpenService> {
  const service = new ReopeningService(options);
  return await service.start();
}

class ReopeningService {
  readonly #options: ReopeningOptions;
  /** Observes what fails in a statement. */
  readonly #runtime: Runtime;
  #opened: OpenService | null = null;
  #reopening: ReopeningApp | null = null;
  #known: DescribedTables = new Map();
  #look: Promise<void> | null = null;
  /** How long after a look that found nothing the next failed statement is no reason for another. */
  #pauseMs = minPauseMs;
  #lookedAt = -Infinity;
  #isClosed = false;

  constructor(options: ReopeningOptions) {
    this.#options = options;
    const { runtime } = options;
    this.#runtime = {
      ...runtime,
      observe: (observation) => {
        runtime.observe(observation);
        this.#afterFailure(failureOf(observation));
      },
    };
  }

  async start(): Promise<OpenService> {
    const { takesSignals, watches } = this.#options;
    const opened = await this.#options.open(this.#runtime, true);
    if (opened.service.describe === undefined) return opened;
    this.#opened = opened;
    this.#known = await opened.service.describe();
    const reopening = reopeningApp(opened.app, async () => {
      await this.#look;
    });
    this.#reopening = reopening;
    const lookAgain = () => void this.#lookNow(true);
    if (takesSignals && hasHangUp) Deno.addSignalListener("SIGHUP", lookAgain);
    if (watches) void this.#watch();
    const { app } = reopening;
    const close = async () => {
      this.#isClosed = true;
      if (takesSignals && hasHangUp) Deno.removeSignalListener("SIGHUP", lookAgain);
      await this.#look;
      await app.close();
    };
    return { ...opened, app: { ...app, close } };
  }

  #afterFailure(failure: "changed" | "unknown" | null): void {
    const { clock } = this.#runtime;
    if (failure === null || this.#look !== null) return;
    const pauseMs = failure === "changed" ? minPauseMs : this.#pauseMs;
    if (clock.elapsedMs() < this.#lookedAt + pauseMs) return;
    void this.#lookNow(false).then(() => {
      this.#lookedAt = clock.elapsedMs();
      this.#pauseMs = Math.min(this.#pauseMs * 2, maxPauseMs);
    });
  }

  async #watch(): Promise<void> {
    let version = await this.#version();
    while (!this.#isClosed) {
      await new Promise<void>((resolve) => this.#runtime.clock.after(watchMs, resolve));
      const now = await this.#version();
      if (this.#isClosed || now === null || now === version) continue;
      await this.#lookNow(false);
      // What the next app has installed is no change.
      version = await this.#version();
    }
  }

  /** Null where the database does not answer now. */
  async #version(): Promise<string | null> {
    const db = this.#opened?.service.config.db;
    try {
      return db === undefined ? null : await schemaVersion(db.driver);
    } catch {
      return null;
    }
  }

  /** One look at a time: a second request for one has the result of the first. */
  #lookNow(isAsked: boolean): Promise<void> {
    this.#look ??= this.#lookAgain(isAsked).catch((error) =>
      this.#options.runtime.observe({ kind: "tables_unread", error })
    ).finally(() => this.#look = null);
    return this.#look;
  }

  async #lookAgain(isAsked: boolean): Promise<void> {
    if (this.#isClosed || this.#opened === null) return;
    const now = await this.#opened.service.describe?.() ?? this.#known;
    const changes = tableChanges(this.#known, now);
    const differs = Object.values(changes).some((names) => names.length > 0);
    if (!differs && !isAsked) return;
    const next = await this.#options.open(this.#runtime, false);
    this.#opened = next;
    this.#known = now;
    this.#pauseMs = minPauseMs;
    this.#reopening?.replaceBy(next);
    this.#options.runtime.observe({ kind: "tables_changed", ...changes });
  }
}

/**
 * Whether a statement failed because the database has other tables than the service knows: it is
 * found to be so, it may be so, or it is not.
 */
function failureOf(observation: Observation): "changed" | "unknown" | null {
  if (!("error" in observation)) return null;
  let error: unknown = observation.error;
  for (let depth = 0; error instanceof Error && depth < 5; depth++, error = error.cause) {
    if (error instanceof Problem && error.slug === "schema-changed") return "changed";
    if (error instanceof DatabaseError && error.kind === "other") return "unknown";
  }
  return null;
}

const hasHangUp = Deno.build.os !== "windows";
const watchMs = 2_000;
const minPauseMs = 1_000;
const maxPauseMs = 60_000;
