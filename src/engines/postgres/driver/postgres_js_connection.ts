import type { Clock } from "../../../runtime/runtime.ts";
import { signalsAfterCommitSetting } from "../sql/change_log_schema.ts";
import { DatabaseError } from "../../../db/database_error.ts";
import {
  connectionError,
  createLibraryClient,
  isFromServer,
  type LibraryClient,
} from "../connection/open_socket.ts";
import type { Attempt, ServerChoice } from "../connection/server_choice.ts";
import { pooledServer, requireState, stateText } from "../connection/server_state.ts";
import {
  endMessage,
  pooledBegin,
  reportedSettings,
  restoreMessage,
  type SessionParts,
  sessionSettings,
  sharedBegin,
  writes,
} from "../connection/session_settings.ts";
import { cancelQuery } from "./cancel_read.ts";
import { isStalePlan } from "./postgres_errors.ts";
import type {
  KeepRow,
  PostgresConnection,
  PostgresResult,
  ScheduledRead,
  TextRow,
} from "./postgres_connection.ts";
import { type BoundStatement, PreparedStatements } from "./prepared_statements.ts";
import type { RoleWatch } from "./role_watch.ts";
import { SilenceWatch } from "./silence_watch.ts";

export interface PostgresJsConnectionOptions extends SessionParts {
  readonly choice: ServerChoice;
  readonly clock: Clock;
  /** The number of listeners in this process. While it is 0, triggers send the signals instead. */
  readonly listeners: { count: number };
  readonly alterations: { count: number };
  readonly notified?: (payload: string) => void;
  readonly lost?: () => void;
}

/** How long opening or restoring a connection may exceed the wait limit, in milliseconds. */
const graceMs = 1_000;

const minAttemptMs = 500;

/**
 * A postgres.js client with one connection. A client whose connection is lost is discarded: the
 * library would connect again and commit a transaction's waiting statements one by one.
 */
export class PostgresJsConnection implements PostgresConnection {
  opening: Promise<void> | null = null;
  readonly #alterations: number;
  readonly #options: PostgresJsConnectionOptions;
  #client: LibraryClient | null = null;
  #isOpen = false;
  /** True during a transaction through a pooler. */
  #isInTransaction = false;
  #attempt = new AbortController();
  readonly #pooled: boolean;
  readonly #prepared = new PreparedStatements();
  #announces: boolean;
  /** True if a setting that the server reports, such as TimeZone, was changed. */
  #isChanged = false;
  /** True if a statement may have fired a trigger since the session was last restored. */
  #hasWritten = false;
  /** Functions that reject the statements that were sent and have no response yet. */
  readonly #sent = new Set<(error: Error) => void>();
  readonly #silence: SilenceWatch;
  #lost = false;
  #ending: Promise<void> | null = null;

  constructor(options: PostgresJsConnectionOptions) {
    this.#options = options;
    this.#alterations = options.alterations.count;
    this.#pooled = options.plan.isPooled;
    this.#announces = options.listeners.count > 0;
    const { clock, options: { statementTimeoutMs }, plan: { settings } } = options;
    // The URL can set `statement_timeout` in any unit. The limit 0 then turns the watch off.
    const limitMs = "statement_timeout" in settings ? 0 : statementTimeoutMs;
    this.#silence = new SilenceWatch(clock, limitMs, () => this.drop());
    this.#opensAfter(options.choice.open((attempt) => this.#connect(attempt)));
  }

  get lost(): boolean {
    return this.#lost;
  }

  get stale(): boolean {
    return this.#isChanged && !this.#pooled || this.#isOutdated;
  }

  get #isOutdated(): boolean {
    return this.#prepared.isFull || this.#alterations !== this.#options.alterations.count;
  }

  run(text: string, values: TextRow, isPipelined = false): Promise<PostgresResult> {
    return this.read(text, values, keepAll, isPipelined).result;
  }

  read(text: string, values: TextRow, keep: KeepRow, isPipelined = false): ScheduledRead {
    if (this.#pooled && !this.#lost) {
      if (text === "BEGIN") return this.#beginPooled();
      if (this.#options.options.readOnly && !this.#isInTransaction) {
        return this.#readPooled(text, values, keep);
      }
      if (text === "COMMIT" || text === "ROLLBACK") this.#isInTransaction = false;
    }
    this.#hasWritten ||= writes.test(text);
    if (!this.#lost) {
      // Only the simple protocol accepts several statements in one message.
      if (text === sharedBegin) return this.#send(text, [], { prepare: false, simple: true });
      const prepare = !this.#pooled && this.#prepared.admits(text);
      return this.#send(text, values, { prepare, isPipelined }, keep);
    }
    const result = Promise.reject(new DatabaseError("unavailable", connectionLoss()));
    return { result, cancel: () => Promise.resolve() };
  }

  end(command: "COMMIT" | "ROLLBACK"): Promise<PostgresResult> {
    // After ROLLBACK, a pooler can assign the session to a new client, so no statement restores it.
    if (this.#lost || this.#pooled && command === "ROLLBACK") return this.run(command, []);
    this.#isInTransaction = false;
    const text = endMessage(command, this.#announces && !this.#pooled);
    return this.#send(text, [], { prepare: false, simple: true }).result;
  }

  #beginPooled(): ScheduledRead {
    this.#isInTransaction = true;
    const text = pooledBegin(this.#options, this.#options.listeners.count > 0);
    return this.#send(text, [], { prepare: false, simple: true });
  }

  #readPooled(text: string, values: TextRow, keep: KeepRow): ScheduledRead {
    const began = this.#beginPooled().result;
    const read = this.#send(text, values, { prepare: false }, keep);
    const ended = this.#send("COMMIT", [], { prepare: false }).result;
    this.#isInTransaction = false;
    const result = Promise.all([read.result, began, ended]).then(([first]) => first);
    return { result, cancel: read.cancel };
  }

  readAfter(first: BoundStatement, statement: BoundStatement, keep: KeepRow): ScheduledRead | null {
    const message = this.#lost ? null : this.#prepared.message([first, statement]);
    return message === null
      ? null
      : this.#send(message, [], { prepare: false, simple: true }, keep);
  }

  drop(): void {
    if (this.#lost) return;
    this.#lose(connectionLoss());
    this.#attempt.abort(connectionLoss());
    this.#ending = this.#client?.end({ timeout: 0 }) ?? null;
  }

  checkRoles(roles: RoleWatch): void {
    // With a pooler, no statement is prepared, so no plan can become stale.
    if (this.opening !== null || this.#pooled) return;
    const checked = roles.check(this);
    if (checked !== null) this.#opensAfter(checked);
  }

  announce(announces: boolean): void {
    // In a pooler's session, the setting would remain and affect other clients later.
    if (this.#announces === announces || this.opening !== null || this.#pooled) return;
    this.#announces = announces;
    const text = `SET ${signalsAfterCommitSetting} = ${announces ? "on" : "off"}`;
    this.#opensAfter(this.#send(text, [], { prepare: false }).result);
  }

  restore(roles: RoleWatch): void {
    const { opening } = this;
    if (opening !== null || !roles.hasChangingFunctions || !this.#hasWritten) return;
    this.#hasWritten = false;
    const text = restoreMessage(this.#announces);
    this.#opensAfter(this.#send(text, [], { prepare: false, simple: true }).result);
  }

  /** Closes the connection when the running statement has ended, or else after the wait limit. */
  async close(): Promise<void> {
    if (this.opening !== null) this.drop();
    if (this.#lost) await this.#ending;
    else await this.#client?.end({ timeout: this.#options.options.waitLimitMs / 1000 });
    this.#silence.stop();
  }

  async #connect(attempt: Attempt): Promise<void> {
    if (this.#lost) throw connectionLoss();
    const { plan, notified, clock, options: { readOnly, waitLimitMs } } = this.#options;
    const { length } = plan.servers;
    const maxMs = length > 1 ? Math.max(minAttemptMs, waitLimitMs / length) : waitLimitMs + graceMs;
    const limitMs = Math.min(plan.connectLimitMs, maxMs);
    const { signal } = this.#attempt = new AbortController();
    const settings = sessionSettings(this.#options, this.#announces);
    const client: LibraryClient = this.#client = createLibraryClient({
      ...{ plan, attempt, settings, limitMs, signal, notified },
      isOpen: () => this.#isOpen,
      reported: (name) => this.#isChanged ||= this.#isOpen && reportedSettings.has(name),
      closed: () => {
        if (this.#isOpen && this.#client === client) this.#lose(connectionLoss());
      },
    });
    const timeout = connectionError("CONNECT_TIMEOUT", `was not open after ${limitMs} ms`);
    const failed = Promise.withResolvers<never>();
    signal.addEventListener("abort", () => failed.reject(signal.reason));
    const cancel = clock.after(limitMs, () => this.#attempt.abort(timeout));
    try {
      // A separate statement opens the connection. The library keeps the first statement until the
      // connection is open, and would run a request's statement even after the request's timeout.
      const text = stateText(attempt.state, this.#pooled);
      const first = this.#send(text, [], { prepare: false }, keepAll, client);
      const { rows: [row = []] } = await Promise.race([first.result, failed.promise]);
      requireState(attempt.state, row, readOnly);
      this.#isOpen = true;
    } catch (error) {
      this.#ending = client.end({ timeout: 0 });
      throw pooledServer(error) ?? error;
    } finally {
      cancel();
    }
  }

  #opensAfter(work: Promise<unknown>): void {
    this.opening = this.#within(work);
    // Prevents an unhandled rejection: only a next statement would await `opening` and report it.
    this.opening.catch(() => {});
  }

  async #within(work: Promise<unknown>): Promise<void> {
    const limitMs = this.#options.options.waitLimitMs + graceMs;
    const cancel = this.#options.clock.after(limitMs, () => this.drop());
    try {
      await work;
      this.opening = null;
    } catch (error) {
      this.drop();
      throw error;
    } finally {
      cancel();
    }
  }

  #send(
    text: string,
    values: TextRow,
    { prepare, isPipelined = false, simple = false }: {
      readonly prepare: boolean;
      readonly isPipelined?: boolean;
      readonly simple?: boolean;
    },
    keep: KeepRow = keepAll,
    client = this.#client,
  ): ScheduledRead {
    if (client === null) throw new Error("The connection is not open");
    // `simple: false` is missing in the declarations. Without it, the library sends a statement
    // without values by the simple protocol, which would run several statements in one string.
    const options = { prepare, simple };
    const query = client.unsafe<(string | null)[][]>(text, [...values], options);
    if (isPipelined) this.#prepared.neverRepeat(query);
    // Makes each row an array. `values()` is a separate call: its result type lacks `forEach`.
    query.values();
    if (this.#isOpen) this.#silence.sends(text);
    const rows: TextRow[] = [];
    const sent = query.forEach((row) => {
      this.#silence.hears();
      if (keep(row)) rows.push(row);
      else rows.length = 0;
    });
    const result = new Promise<PostgresResult>((resolve, reject) => {
      this.#sent.add(reject);
      sent.then(
        (all) => {
          this.#received(reject);
          if (prepare) this.#prepared.confirm(text, query);
          // The cast is safe: for several statements, the result is an array of results.
          const [last = all] = simple ? (all as unknown as typeof all[]).slice(-1) : [];
          const { command, count, columns } = last;
          resolve({ rows, command, count, columns });
        },
        (error) => {
          this.#received(reject);
          reject(error);
          if (!this.#isOpen) return;
          if (!isFromServer(error)) this.drop();
          else if (isStalePlan(error) && !this.#isOutdated) this.#options.alterations.count++;
        },
      );
    });
    return { result, cancel: () => this.#cancel(query, result) };
  }

  #received(reject: (error: Error) => void): void {
    this.#sent.delete(reject);
    if (this.#sent.size === 0) this.#silence.end();
    else this.#silence.hears();
  }

  /** Cancels a query. Drops the connection if a pooler may apply the cancel to a later query. */
  async #cancel(query: object, result: Promise<unknown>): Promise<void> {
    const outcome = result.then(() => null, (error) => error);
    if (!await cancelQuery(query, outcome, this.#options.clock) || this.#pooled) this.drop();
  }

  #lose(loss: Error): void {
    const isFirst = !this.#lost;
    this.#lost = true;
    for (const reject of this.#sent) reject(loss);
    this.#sent.clear();
    this.#silence.stop();
    if (isFirst) this.#options.lost?.();
  }
}

function keepAll(): boolean {
  return true;
}

function connectionLoss(): Error {
  return connectionError("CONNECTION_CLOSED", "was lost");
}
