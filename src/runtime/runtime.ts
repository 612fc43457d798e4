import type { AccountFacts } from "./observations/account_facts.ts";
import type { OperatorObservation } from "./observations/operator_observation.ts";
import type { RequestObservation } from "./observations/request_observation.ts";
import type { TablesChanged } from "./observations/tables_changed.ts";
import { setImmediate } from "node:timers";
import { bytesToHex } from "../protocol/byte_text.ts";

/** The clock of a runtime. Tests replace it with a clock that they set. */
export interface Clock {
  /** Returns milliseconds since 1970. The value can jump when the system clock is set. */
  now(): number;
  /** Returns milliseconds of a monotonic clock. */
  elapsedMs(): number;
  /** Runs `work` after `delayMs`, unless the process exits. Returns a function that cancels it. */
  after(delayMs: number, work: () => void): () => void;
}

/** The source of random bytes in a runtime. */
export interface Random {
  /** Returns `length` unpredictable bytes. */
  bytes(length: number): Uint8Array;
}

/**
 * Runs work on a cron schedule of five fields, in UTC, until the returned function is called. If
 * the host has stopped the idle process, the host starts a new process for the work.
 */
export type Cron = (name: string, schedule: string, work: () => Promise<void>) => () => void;

/** The runtime of a service: clock, random bytes, observer and environment. Tests replace it. */
export interface Runtime {
  /** The clock. */
  readonly clock: Clock;
  /** The source of random bytes. */
  readonly random: Random;
  /** Receives observations. */
  readonly observe: Observer;
  /** Returns an environment variable of the process. */
  environment(name: string): string | undefined;
  /** The cron of the platform. Absent if the platform has none. */
  readonly cron?: Cron | undefined;
  /**
   * Returns true if another program has changed the tables, and an app with the new tables has
   * replaced this app. Absent if the tables of an app never change after its start.
   */
  readonly tablesChanged?: (() => Promise<boolean>) | undefined;
}

/** An observation: an event that the service reports to an {@link Observer} for the operator. */
export type Observation =
  | {
    [Kind in keyof ObservationFacts]: { readonly kind: Kind } & Readonly<ObservationFacts[Kind]>;
  }[keyof ObservationFacts]
  | RequestObservation
  | OperatorObservation
  | TablesChanged;

/** The kinds of observations, and the members of each kind. */
export type ObservationFacts = AccountFacts & {
  notice: { message: string };
  worker_refused: { error: Error };
  worker_started: { worker: number; pid: number };
  /** `reason` is the exit code of the worker, or the signal that ended it. */
  worker_ended: { worker: number; pid: number; reason: string };
  worker_kept: { worker: number; reason: string };
  listening: { url: string };
  request_failed: {
    method: string;
    path: string;
    error: unknown;
    /** Number of failures of an overloaded service that were not reported since the last report. */
    suppressed?: number;
  };
  answer_broke_off: { path: string; error: unknown };
  response_header_encoded: { name: string };
  listener_failed: { error: unknown; retryInMs: number };
  unhandled_rejection: { error: unknown };
  uncaught_error: { error: unknown };
  value_does_not_fit: { table: string; column: string };
  /** `suppressed` is the number of failures of this field since the last report. */
  computed_failed: { resource: string; field: string; suppressed: number; error: unknown };
  live_mismatch: { table: string; column: string; operator: string };
  aggregate_mismatch: { resource: string };
  table_left_out: { table: string; reason: string };
  /** The command line serves no table of this Postgres schema, for the stated reason. */
  schema_left_out: { schema: string; reason: string };
  tables_unread: { error: unknown };
  /** A client of MCP has called a tool. `user` is null for an anonymous caller. */
  mcp_call: { tool: string; user: string | null };
  proof_of_work_refused: { reason: PowRefusal };
  captcha_refused: { provider: string; reason: string };
  captcha_verifier_failed: { provider: string; error: unknown };
  idempotency_table_missing: { database: string; error: unknown };
  reader_thread_failed: { database: string; error: unknown };
  database_replaced: { database: string; error: unknown };
  idempotency_store_failed: { error: unknown };
  trust_failed: { error: unknown };
  classify_failed: { error: unknown };
  limits_unshared: { error: unknown };
  store_in_memory: { purpose: string; reason: string };
  // deno-lint-ignore ban-types -- an event of this kind has no members
  draining: {};
  changes_unread: { error: unknown; retryInMs: number };
  live_upkeep_failed: { error: unknown };
  stream_failed: { resource: string; error: unknown };
  webhook_refused: { provider: string; reason: string };
  webhook_claim_kept: { provider: string; error: unknown };
  ungranted_money: { provider: string; payment: string; reason: string };
  unattributed_money: { provider: string; payment: string };
  customer_not_linked: { provider: string; customer: string };
  search_outbox_missed: { index: string; count: number; error: unknown };
  search_outbox_failed: { error: unknown };
  /** `rows` is the number of rows that are missing from the index or outdated in it. */
  search_index_failed: { index: string; rows: number; error: unknown };
  search_index_unfilled: { index: string; error: unknown; retryInMs: number };
};

/** The reason why a proof of work was rejected, for the operator. The client does not see it. */
export type PowRefusal =
  | "absent"
  | "malformed"
  | "forged"
  | "replayed"
  | "expired"
  | "too-easy"
  | "other-request"
  | "unsolved";

/** Receives the observations of a service. Must not throw. */
export type Observer = (observation: Observation) => void;

/** A time limit that several consecutive waits share. */
export interface Deadline {
  leftMs(): number;
  /** Resolves or rejects like `work`. After the deadline, rejects with the error of `tooLate`. */
  within<T>(work: Promise<T>): Promise<T>;
}

export function deadline(limitMs: number, clock: Clock, tooLate: () => Error): Deadline {
  const start = clock.elapsedMs();
  const leftMs = () => Math.max(0, start + limitMs - clock.elapsedMs());
  return {
    leftMs,
    within(work) {
      return new Promise((resolve, reject) => {
        const cancel = clock.after(leftMs(), () => reject(tooLate()));
        work.then((value) => {
          cancel();
          resolve(value);
        }, (error) => {
          cancel();
          reject(error);
        });
      });
    },
  };
}

/** Waits and keeps the process alive, unlike a timer of the {@link Clock}. */
export function sleep(delayMs: number): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, delayMs));
}

export function keepAlive(): () => void {
  const timer = setInterval(() => {}, 2 ** 30);
  return () => clearInterval(timer);
}

/** Runs work after pending requests are read: a microtask is too early, a timer is 1 ms late. */
export const runAfterPendingIo: (work: () => void) => unknown = setImmediate;

/** Lets other requests run if the current work has taken long. Long work calls it repeatedly. */
export type YieldTurn = () => Promise<void>;

/** The maximum time for which long work delays other requests, in milliseconds. */
const maxTurnMs = 5;

/**
 * Creates a {@link YieldTurn} for one piece of work. While there is work, Deno handles requests
 * only after a real timer. A timer costs a millisecond, so it is used once per `maxTurnMs`.
 */
export function createYieldTurn(clock: Clock): YieldTurn {
  let turnBeganAt = clock.elapsedMs();
  return async () => {
    if (clock.elapsedMs() - turnBeganAt < maxTurnMs) return;
    await sleep(0);
    turnBeganAt = clock.elapsedMs();
  };
}

/** Counts event loop turns: work is synchronous if it ends in the turn in which it began. */
export class EventLoopTurnCounter {
  #count = 0;
  #isScheduled = false;

  get count(): number {
    return this.#count;
  }

  /** Returns the current count. The count increases when the current turn has ended. */
  watch(): number {
    if (!this.#isScheduled) {
      this.#isScheduled = true;
      runAfterPendingIo(() => {
        this.#count++;
        this.#isScheduled = false;
      });
    }
    return this.#count;
  }
}

/** Returns an unpredictable UUID of version 7 (RFC 9562, 5.7). UUIDs sort by creation time. */
export function uuidV7(clock: Clock, random: Random): string {
  const bytes = random.bytes(16);
  const view = new DataView(bytes.buffer, bytes.byteOffset);
  const now = clock.now();
  view.setUint16(0, Math.floor(now / 2 ** 32));
  view.setUint32(2, now % 2 ** 32);
  view.setUint8(6, 0x70 | (view.getUint8(6) & 0x0f));
  view.setUint8(8, 0x80 | (view.getUint8(8) & 0x3f));
  const hex = bytesToHex(bytes);
  return [
    hex.slice(0, 8),
    hex.slice(8, 12),
    hex.slice(12, 16),
    hex.slice(16, 20),
    hex.slice(20),
  ].join("-");
}

/** Returns a random delay, so that clients that arrived together do not all return together. */
export function randomDelayBetween(
  { random }: Pick<Runtime, "random">,
  least: number,
  most: number,
): number {
  const [high = 0, low = 0] = random.bytes(2);
  return least + (most - least) * (high * 256 + low) / 65_535;
}
