import { Buffer } from "node:buffer";
import { deserialize, serialize } from "node:v8";
import { encodeKey, encodePrefix } from "../../../kv/key_encoding.ts";
import type {
  KeyValue,
  KeyValueCommit,
  KeyValueCommitResult,
  KeyValueEntry,
  KeyValueKey,
  KeyValuePage,
} from "../../../kv/key_value.ts";
import { serializeValue, validateCommit, validatePage } from "../../../kv/memory_key_value.ts";
import { StoreError, type StoreErrorKind } from "../../../kv/store_error.ts";
import { bytesToHex, hexToBytes } from "../../../protocol/byte_text.ts";
import { waitBackoff } from "../../../runtime/backoff.ts";
import { type Deadline, deadline, type Runtime } from "../../../runtime/runtime.ts";
import type { SqlValue, Statement } from "../../../sql/fragment.ts";
import { DatabaseError } from "../../../db/database_error.ts";
import type { Driver } from "../../../db/driver.ts";
import { toPostgresText } from "../driver/run_statement.ts";
import { openStore, type ServerClock, storeNames, sweepStepMs } from "./store_schema.ts";

export interface PostgresStoreParts extends Pick<Runtime, "clock" | "random"> {
  readonly open: () => Promise<Driver>;
  readonly driver: Driver;
  readonly schema: string;
}

export const operationMs = 3_000;

/** The minimum time, in ms, to find out if a commit with a lost acknowledgement happened. */
const proofMs = 500;
const [sweepPauseMs, sweepSize] = [60_000, 1_000];

/** A commit with more keys locks the whole store, because the server's lock table is limited. */
const maxLocks = 128;

export class PostgresKeyValue implements KeyValue {
  readonly #parts: PostgresStoreParts;
  readonly #names: ReturnType<typeof storeNames>;
  /** The versions of records to ignore, because the requests that claimed them were refused. */
  readonly #refused = new Set<string>();
  #driver: Driver;
  #server: ServerClock | null = null;
  #answeredAtMs = -Infinity;
  #isRenewing = false;
  #sweptAtMs = -Infinity;
  #isClosed = false;

  constructor(parts: PostgresStoreParts) {
    this.#parts = parts;
    this.#driver = parts.driver;
    this.#names = storeNames(parts.schema);
  }

  async prepare(): Promise<ServerClock> {
    const { schema, clock } = this.#parts;
    return this.#server = await openStore(this.#driver, schema, clock);
  }

  async get(key: KeyValueKey): Promise<KeyValueEntry> {
    return (await this.getMany([key]))[0]!;
  }

  async getMany(
    keys: readonly KeyValueKey[],
    limit: Deadline = this.#deadline(operationMs),
  ): Promise<readonly KeyValueEntry[]> {
    const codes = keys.map((key) => bytesOf(encodeKey(key)));
    const rows = await this.#read("key = ANY ($3::bytea[])", [list(codes)], limit);
    const found = new Map(rows.map((row) => [row[2], toEntry(row)]));
    return keys.map((key, index) =>
      found.get(toPostgresText(codes[index]!)) ?? { key, value: undefined, versionstamp: null }
    );
  }

  async list(page: KeyValuePage): Promise<readonly KeyValueEntry[]> {
    validatePage(page);
    const { prefix, after, limit, reverse = false } = page;
    const code = encodePrefix(prefix);
    // No part of a key begins with the byte 0xff, so this byte follows all keys with the prefix.
    const bounds = [reverse || after === undefined ? code : encodeKey(after)];
    bounds.push(reverse && after !== undefined ? encodeKey(after) : `${code}\xff`);
    const order = `ORDER BY key ${reverse ? "DESC" : ""} LIMIT $5::bigint`;
    const rows = await this.#read(
      `key > $3::bytea AND key < $4::bytea ${order}`,
      [...bounds.map(bytesOf), limit],
      this.#deadline(operationMs),
    );
    return rows.map(toEntry);
  }

  async commit(commit: KeyValueCommit): Promise<KeyValueCommitResult> {
    validateCommit(commit);
    const { clock, random } = this.#parts;
    const limit = this.#deadline(operationMs);
    const version = random.bytes(12);
    const versionstamp = bytesToHex(version);
    const values = commitValues(commit, clock.now());
    const result = { ok: true, versionstamp } as const;
    const text = `CALL ${this.#names.procedure}($1::integer[],$2::bytea[],$3::bytea[],$4::bytea[],
      $5::bytea[],$6::bigint[],$7::bytea[],$8::bytea,$9::bigint,$10::text,$11::bigint,NULL)`;
    this.#sweep();
    try {
      for (;;) {
        const server = await this.#currentServer(limit);
        const until = Math.floor(clock.elapsedMs() + limit.leftMs() + server.aheadMs);
        const [now, refused] = this.#live();
        const all = [...values, refused, version, now, server.name, until];
        const [[done] = []] = await this.#query({ text, values: all }, limit, "unknown-outcome");
        if (done !== null) return done === "t" ? result : { ok: false };
        // The server has started again, or its clock has changed: the clocks are compared again.
        if (this.#server === server) this.#server = null;
      }
    } catch (error) {
      if (!(error instanceof StoreError) || error.kind !== "unknown-outcome") throw error;
      if (await this.#isDone(commit, versionstamp, limit)) return result;
      this.#refuse(commit, versionstamp);
      throw error;
    }
  }

  async close(): Promise<void> {
    this.#isClosed = true;
    await this.#driver.close();
  }

  #deadline(limitMs: number): Deadline {
    const tooLate = () => new Error(`No answer came within ${limitMs} ms`);
    return deadline(limitMs, this.#parts.clock, tooLate);
  }

  #live(): readonly [now: number, refused: string] {
    return [this.#parts.clock.now(), list([...this.#refused].map(hexToBytes))];
  }

  async #currentServer(limit: Deadline): Promise<ServerClock> {
    return this.#server ?? await this.#within(() => this.prepare(), limit, "unavailable");
  }

  async #read(where: string, values: readonly SqlValue[], limit: Deadline): Promise<Rows> {
    await this.#currentServer(limit);
    const text = `SELECT version, value, key FROM ${this.#names.table} WHERE version <> ALL
      ($2::bytea[]) AND (expires_at IS NULL OR expires_at > $1::bigint) AND ${where}`;
    // A read by keys is quick, so the driver may send several of them on one connection.
    const isSingle = values.length === 1;
    const statement = { text, values: [...this.#live(), ...values], isSingle };
    return await this.#query(statement, limit, "unavailable");
  }

  async #query(statement: Statement, limit: Deadline, lost: StoreErrorKind): Promise<Rows> {
    return (await this.#within(async () => await this.#driver.query(statement), limit, lost)).rows;
  }

  async #within<T>(work: () => Promise<T>, limit: Deadline, lost: StoreErrorKind): Promise<T> {
    if (this.#isClosed) throw new StoreError("unavailable", new Error("The store is closed"));
    try {
      const result = await limit.within(work());
      this.#answeredAtMs = this.#parts.clock.elapsedMs();
      return result;
    } catch (error) {
      this.#renew();
      const isRefused = error instanceof DatabaseError && error.kind !== "unknown-outcome";
      throw new StoreError(isRefused ? "unavailable" : lost, error);
    }
  }

  /** Replaces silent connections: a server without power or network never closes them. */
  #renew(): void {
    const now = this.#parts.clock.elapsedMs();
    const isSilent = now - this.#answeredAtMs >= operationMs;
    if (!isSilent || this.#isRenewing || this.#isClosed) return;
    this.#answeredAtMs = now;
    this.#isRenewing = true;
    const renew = async () => {
      const driver = await this.#parts.open();
      const old = this.#isClosed ? driver : this.#driver;
      if (!this.#isClosed) this.#driver = driver;
      this.#isRenewing = false;
      await old.close();
    };
    renew().catch(() => this.#isRenewing = false);
  }

  async #isDone({ claim }: KeyValueCommit, version: string, until: Deadline): Promise<boolean> {
    const limit = this.#deadline(Math.max(proofMs, until.leftMs()));
    for (let tries = 1; claim !== undefined && limit.leftMs() > 0 && !this.#isClosed; tries++) {
      try {
        return (await this.getMany([claim], limit))[0]?.versionstamp === version;
      } catch (error) {
        if (!(error instanceof StoreError)) throw error;
        await waitBackoff(tries, this.#parts);
      }
    }
    return false;
  }

  /** Ignores the claim of a refused request, and deletes it when the server is available again. */
  #refuse({ claim, isProvisional = false }: KeyValueCommit, version: string): void {
    if (claim === undefined || !isProvisional) return;
    const { clock } = this.#parts;
    const text = `DELETE FROM ${this.#names.table} WHERE key = $1::bytea AND version = $2::bytea`;
    const values = [bytesOf(encodeKey(claim)), hexToBytes(version)];
    // The first attempt follows the commit's deadline, after which the server cannot commit.
    const removeLater = () =>
      clock.after(operationMs + 1_000, async () => {
        if (this.#isClosed) return;
        try {
          await this.#driver.query({ text, values });
          this.#refused.delete(version);
        } catch {
          removeLater();
        }
      });
    this.#refused.add(version);
    removeLater();
  }

  /** Deletes expired records once a minute. Only commits start a sweep: only they add records. */
  #sweep(): void {
    const { clock } = this.#parts;
    if (clock.elapsedMs() - this.#sweptAtMs < sweepPauseMs) return;
    this.#sweptAtMs = clock.elapsedMs();
    const text = `DELETE FROM ${this.#names.table} WHERE key IN (SELECT key
      FROM ${this.#names.table} WHERE sweep_at < $1::bigint LIMIT ${sweepSize}
      FOR UPDATE SKIP LOCKED)`;
    const sweep = async () => {
      await this.prepare();
      for (let count = sweepSize; count === sweepSize;) {
        const values = [Math.floor(clock.now() / sweepStepMs)];
        count = (await this.#driver.query({ text, values })).changed;
      }
    };
    // If the sweep fails, the next one deletes the records.
    sweep().catch(() => {});
  }
}

type Rows = readonly (readonly SqlValue[])[];

function commitValues(
  { checks = [], mutations }: KeyValueCommit,
  now: number,
): readonly (string | null)[] {
  const last = new Map<string, readonly [value: Uint8Array | null, expiresAt: number | null]>();
  for (const mutation of mutations) {
    const code = encodeKey(mutation.key);
    if (mutation.kind === "delete") last.set(code, [null, null]);
    else {
      const { key, value, expireInMs } = mutation;
      serializeValue(key, value);
      const bytes = serialize([key, value]);
      last.set(code, [bytes, expireInMs === undefined ? null : now + expireInMs]);
    }
  }
  const checked = checks.map(({ key }) => encodeKey(key));
  const locks = new Set([...last.keys(), ...checked].map(lockOf));
  const versions = checks.map(({ versionstamp }) =>
    versionstamp === null ? null : Buffer.from(versionstamp, "hex")
  );
  return [
    locks.size > maxLocks ? null : `{${[...locks].sort((left, right) => left - right)}}`,
    list(checked.map(bytesOf)),
    list(versions),
    list([...last.keys()].map(bytesOf)),
    list([...last.values()].map(([value]) => value)),
    `{${[...last.values()].map(([, expiresAt]) => expiresAt ?? "NULL")}}`,
  ];
}

/** Returns the lock of a key: FNV-1a, in 32 bits. Two keys may have the same lock. */
function lockOf(code: string): number {
  let hash = 0x811c9dc5 | 0;
  for (let at = 0; at < code.length; at++) {
    hash = Math.imul(hash ^ code.charCodeAt(at), 0x01000193);
  }
  return hash;
}

function toEntry([version, bytes]: readonly SqlValue[]): KeyValueEntry {
  const [key, value] = deserialize(Buffer.from(String(bytes).slice(2), "hex"));
  return { key, value, versionstamp: String(version).slice(2) };
}

function bytesOf(code: string): Buffer {
  return Buffer.from(code, "latin1");
}

/** Returns an array of `bytea`, in whose quotes a backslash must be doubled. */
function list(items: readonly (Uint8Array | null)[]): string {
  return `{${items.map((item) => item === null ? "NULL" : `"\\\\x${bytesToHex(item)}"`)}}`;
}
