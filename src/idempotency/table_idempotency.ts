import {
  type ClaimResult,
  type FoundKeyRecord,
  type IdempotencyClaim,
  idempotencyLeaseMs,
  type IdempotencyStore,
  type StoredAnswer,
  type StoredResponse,
} from "./idempotency_store.ts";
import type { Runtime } from "../runtime/runtime.ts";
import { StoreError } from "../kv/store_error.ts";
import { integer, text } from "../schema/column_builder.ts";
import { table } from "../schema/table.ts";
import { tableInfoOf } from "../schema/table_like.ts";
import { createTables } from "../db/tables/create_tables.ts";
import { DatabaseError } from "../db/database_error.ts";
import type { Connection, Driver } from "../db/driver.ts";
import { SqlPlans } from "../db/template/sql_plan.ts";
import { createSqlTag, type SqlTag } from "../db/template/sql_statement.ts";
import { transact } from "../db/transact.ts";

export interface TableIdempotencyOptions extends Pick<Runtime, "clock" | "random"> {
  readonly driver: Driver;
  readonly ttlMs: number;
}

/** Stores idempotency records in the table `_service_idempotency` of the resource's database. */
export class TableIdempotency implements IdempotencyStore {
  readonly #options: TableIdempotencyOptions;
  readonly #plans = new SqlPlans();
  readonly #sql: SqlTag;
  #preparation: Promise<void> | null = null;
  #nextPurgeAt = 0;

  constructor(options: TableIdempotencyOptions) {
    this.#options = options;
    const { driver } = options;
    this.#sql = this.#sqlOn({
      query: (statement) =>
        asStoreErrors(() =>
          transact(driver, options, (connection) => connection.query(statement), {
            isAutocommit: true,
          })
        ),
    });
  }

  #sqlOn(connection: Connection): SqlTag {
    return createSqlTag(connection, this.#options.driver.dialect, this.#plans);
  }

  /** Creates the table if it is missing. Also called by the first claim. */
  async prepare(): Promise<void> {
    this.#preparation ??= asStoreErrors(() =>
      createTables(this.#options.driver, [tableInfoOf(records)], [index])
    );
    try {
      await this.#preparation;
    } catch (error) {
      // After a failure, the next call tries again.
      this.#preparation = null;
      throw error;
    }
  }

  async claim(claim: IdempotencyClaim): Promise<ClaimResult> {
    await this.prepare();
    await this.#purgeRarely();
    for (;;) {
      if (await this.#insert(claim)) return { kind: "claimed" };
      const found = await this.#read(claim);
      if (found === null) continue;
      const state = this.#claimState(found);
      if (state !== null) return state;
      if (await this.#takeOver(claim, found)) return { kind: "claimed" };
    }
  }

  async find(claim: IdempotencyClaim): Promise<FoundKeyRecord | null> {
    await this.prepare();
    const found = await this.#read(claim);
    return found === null ? null : this.#claimState(found);
  }

  async renew(claim: IdempotencyClaim): Promise<void> {
    await this.#sql`UPDATE ${records} SET ${records.leaseUntil} = ${this.#leaseEnd()}
      ${whereHeld(claim, this.#sql)}`;
  }

  async finish(claim: IdempotencyClaim, answer: StoredResponse): Promise<void> {
    await this.#finish(claim, answer, this.#sql);
  }

  /**
   * Stores the response in the transaction of the write, so that both are committed or none.
   * Returns false if another request has taken over the key: the caller must then roll back.
   */
  async finishWithin(
    claim: IdempotencyClaim,
    answer: StoredResponse,
    connection: Connection,
  ): Promise<boolean> {
    return await this.#finish(claim, answer, this.#sqlOn(connection));
  }

  async release(claim: IdempotencyClaim): Promise<void> {
    await this.#sql`DELETE FROM ${records} ${whereHeld(claim, this.#sql)}`;
  }

  /** Deletes expired responses. */
  async purge(): Promise<void> {
    await this.prepare();
    const now = this.#options.clock.now();
    await this.#sql`DELETE FROM ${records}
      WHERE ${records.expiresAt} <= ${now} AND ${records.leaseUntil} <= ${now}`;
  }

  /** Deletes expired responses from time to time. They only use space: none is ever returned. */
  async #purgeRarely(): Promise<void> {
    const now = this.#options.clock.now();
    if (now < this.#nextPurgeAt) return;
    this.#nextPurgeAt = now + purgeMs;
    await this.purge();
  }

  async #insert({ id, owner, fingerprint }: IdempotencyClaim): Promise<boolean> {
    const { changed } = await this.#sql`INSERT INTO ${records}
      (${records.id}, ${records.owner}, ${records.fingerprint}, ${records.leaseUntil},
        ${records.expiresAt})
      VALUES (${id}, ${owner}, ${fingerprint}, ${this.#leaseEnd()}, ${this.#recordEnd()})
      ON CONFLICT (${records.id}) DO NOTHING`;
    return changed > 0;
  }

  async #read({ id }: IdempotencyClaim): Promise<Found | null> {
    const { rows: [found = null] } = await this.#sql<Found>`SELECT ${records.owner},
      ${records.fingerprint}, ${records.leaseUntil}, ${records.expiresAt}, ${records.answer}
      FROM ${records} WHERE ${records.id} = ${id}`;
    return found;
  }

  /** Returns what a claim of the key finds in this record; null if the record has expired. */
  #claimState({ fingerprint, answer, leaseUntil, expiresAt }: Found): FoundKeyRecord | null {
    const end = answer === null ? leaseUntil : expiresAt;
    if (end <= this.#options.clock.now()) return null;
    return answer === null
      ? { kind: "in-flight", fingerprint }
      : { kind: "finished", fingerprint, answer: parseAnswer(answer) };
  }

  /** Makes a record belong to another claim, if it has not changed since it was read. */
  async #takeOver(
    { id, owner, fingerprint }: IdempotencyClaim,
    found: Found,
  ): Promise<boolean> {
    const { changed } = await this.#sql`UPDATE ${records}
      SET ${records.owner} = ${owner}, ${records.fingerprint} = ${fingerprint},
        ${records.answer} = NULL, ${records.leaseUntil} = ${this.#leaseEnd()},
        ${records.expiresAt} = ${this.#recordEnd()}
      WHERE ${records.id} = ${id} AND ${records.owner} = ${found.owner}
        AND ${records.leaseUntil} = ${found.leaseUntil}
        AND ${records.expiresAt} = ${found.expiresAt}`;
    return changed > 0;
  }

  async #finish(
    claim: IdempotencyClaim,
    { answer, keepMs }: StoredResponse,
    sql: SqlTag,
  ): Promise<boolean> {
    const { changed } = await sql`UPDATE ${records} SET ${records.answer} = ${
      JSON.stringify(answer)
    }, ${records.expiresAt} = ${this.#options.clock.now() + keepMs} ${whereHeld(claim, sql)}`;
    return changed > 0;
  }

  #leaseEnd(): number {
    return this.#options.clock.now() + idempotencyLeaseMs;
  }

  #recordEnd(): number {
    return this.#options.clock.now() + this.#options.ttlMs;
  }
}

const purgeMs = 600_000;

const records = table("_service_idempotency", {
  id: text().primaryKey(),
  owner: text().notNull(),
  fingerprint: text().notNull(),
  leaseUntil: integer().notNull().as("lease_until"),
  expiresAt: integer().notNull().as("expires_at"),
  /** The response as JSON; null while the request is executed. */
  answer: text(),
});

type Found = Omit<typeof records.$inferSelect, "id">;

/** The index for deleting expired records. */
const index = {
  text: "CREATE INDEX IF NOT EXISTS _service_idempotency_end ON _service_idempotency (expires_at)",
  values: [],
};

/** Returns the condition that a claim is still valid and has no response yet. */
function whereHeld({ id, owner }: IdempotencyClaim, sql: SqlTag): object {
  return sql`WHERE ${records.id} = ${id} AND ${records.owner} = ${owner}
    AND ${records.answer} IS NULL`;
}

function parseAnswer(answer: string): StoredAnswer {
  // The cast is safe, because no other code writes this table.
  return JSON.parse(answer) as StoredAnswer;
}

async function asStoreErrors<T>(work: () => Promise<T>): Promise<T> {
  try {
    return await work();
  } catch (error) {
    if (!(error instanceof DatabaseError)) throw error;
    const kind = error.kind === "unknown-outcome" ? "unknown-outcome" : "unavailable";
    throw new StoreError(kind, error);
  }
}
