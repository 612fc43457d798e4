import {
  type FoundKeyRecord,
  type IdempotencyClaim,
  idempotencyLeaseMs,
  type IdempotencyStore,
  type KeyClaimResult,
  type StoredAnswer,
  type StoredResponse,
} from "./idempotency_store.ts";
import type { Runtime } from "../runtime/runtime.ts";
import { StoreError } from "../kv/store_error.ts";
import { integer, text } from "../schema/column_builder.ts";
import { table } from "../schema/table.ts";
import { columnInfoOf, tableInfoOf } from "../schema/table_like.ts";
import {
  type Fragment,
  identifier,
  rawSql,
  sql,
  type SqlValue,
  type Statement,
  toStatement,
} from "../sql/fragment.ts";
import { createTables } from "../db/tables/create_tables.ts";
import { DatabaseError } from "../db/database_error.ts";
import type { Connection, Driver, QueryResult } from "../db/driver.ts";
import { transact } from "../db/transact.ts";

export interface TableIdempotencyOptions extends Pick<Runtime, "clock" | "random"> {
  readonly driver: Driver;
  readonly ttlMs: number;
}

export class TableIdempotency implements IdempotencyStore {
  readonly #options: TableIdempotencyOptions;
  #preparation: Promise<void> | null = null;
  #nextPurgeAt = 0;

  constructor(options: TableIdempotencyOptions) {
    this.#options = options;
  }

  async prepare(): Promise<void> {
    this.#preparation ??= asStoreErrors(() =>
      createTables(this.#options.driver, [tableInfoOf(records)], [index])
    );
    try {
      await this.#preparation;
    } catch (error) {
      this.#preparation = null;
      throw error;
    }
  }

  async claim(claim: IdempotencyClaim): Promise<KeyClaimResult> {
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
    await this.#run(
      sql`UPDATE ${name} SET ${leaseUntil} = ${this.#leaseEnd()} ${whereHeld(claim)}`,
    );
  }

  async finish(claim: IdempotencyClaim, answer: StoredResponse): Promise<void> {
    await this.#run(this.#finish(claim, answer));
  }

  /** Stores the response in this transaction. Returns false if another request has the key now. */
  async finishWithin(
    claim: IdempotencyClaim,
    answer: StoredResponse,
    connection: Connection,
  ): Promise<boolean> {
    return (await connection.query(this.#statement(this.#finish(claim, answer)))).changed > 0;
  }

  async release(claim: IdempotencyClaim): Promise<void> {
    await this.#run(sql`DELETE FROM ${name} ${whereHeld(claim)}`);
  }

  async purge(): Promise<void> {
    await this.prepare();
    const bound = this.#bound(this.#options.clock.now());
    await this.#run(
      sql`DELETE FROM ${name} WHERE ${expiresAt} <= ${bound} AND ${leaseUntil} <= ${bound}`,
    );
  }

  async #purgeRarely(): Promise<void> {
    const now = this.#options.clock.now();
    if (now < this.#nextPurgeAt) return;
    this.#nextPurgeAt = now + purgeMs;
    await this.purge();
  }

  async #insert({ id, owner, fingerprint }: IdempotencyClaim): Promise<boolean> {
    const { changed } = await this.#run(
      sql`INSERT INTO ${name} (id, owner, fingerprint, ${leaseUntil}, ${expiresAt})
        VALUES (${id}, ${owner}, ${fingerprint}, ${this.#leaseEnd()}, ${this.#recordEnd()})
        ON CONFLICT (id) DO NOTHING`,
    );
    return changed > 0;
  }

  async #read({ id }: IdempotencyClaim): Promise<Found | null> {
    const { rows: [row] } = await this.#run(
      sql`SELECT owner, fingerprint, ${leaseUntil}, ${expiresAt}, answer
        FROM ${name} WHERE id = ${id}`,
    );
    if (row === undefined) return null;
    const [owner, fingerprint, leaseEnd, recordEnd, answer] = row;
    return {
      owner: String(owner),
      fingerprint: String(fingerprint),
      leaseUntil: leaseEnd ?? 0,
      expiresAt: recordEnd ?? 0,
      answer: typeof answer === "string" ? answer : null,
    };
  }

  #claimState({ fingerprint, answer, leaseUntil, expiresAt }: Found): FoundKeyRecord | null {
    const end = answer === null ? leaseUntil : expiresAt;
    if (Number(end) <= this.#options.clock.now()) return null;
    // The cast is safe, because no other code writes this table.
    return answer === null
      ? { kind: "in-flight", fingerprint }
      : { kind: "finished", fingerprint, answer: JSON.parse(answer) as StoredAnswer };
  }

  async #takeOver({ id, owner, fingerprint }: IdempotencyClaim, found: Found): Promise<boolean> {
    const { changed } = await this.#run(
      sql`UPDATE ${name} SET owner = ${owner}, fingerprint = ${fingerprint}, answer = NULL,
          ${leaseUntil} = ${this.#leaseEnd()}, ${expiresAt} = ${this.#recordEnd()}
        WHERE id = ${id} AND owner = ${found.owner}
          AND ${leaseUntil} = ${this.#bound(found.leaseUntil)}
          AND ${expiresAt} = ${this.#bound(found.expiresAt)}`,
    );
    return changed > 0;
  }

  #finish(claim: IdempotencyClaim, { answer, keepMs }: StoredResponse): Fragment {
    const end = this.#bound(this.#options.clock.now() + keepMs);
    return sql`UPDATE ${name} SET answer = ${JSON.stringify(answer)},
        ${expiresAt} = ${end} ${whereHeld(claim)}`;
  }

  #leaseEnd(): Fragment {
    return this.#bound(this.#options.clock.now() + idempotencyLeaseMs);
  }

  #recordEnd(): Fragment {
    return this.#bound(this.#options.clock.now() + this.#options.ttlMs);
  }

  #bound(moment: SqlValue): Fragment {
    return this.#options.driver.dialect.boundStored(moment, timestampColumn);
  }

  #run(fragment: Fragment): Promise<QueryResult> {
    const { driver } = this.#options;
    const statement = this.#statement(fragment);
    return asStoreErrors(() =>
      transact(driver, this.#options, async (connection) => await connection.query(statement), {
        isAutocommit: true,
      })
    );
  }

  #statement(fragment: Fragment): Statement {
    return toStatement(fragment, this.#options.driver.dialect.placeholder);
  }
}

const purgeMs = 600_000;

const records = table("_service_idempotency", {
  id: text().primaryKey(),
  owner: text().notNull(),
  fingerprint: text().notNull(),
  leaseUntil: integer().notNull().as("lease_until"),
  expiresAt: integer().notNull().as("expires_at"),
  answer: text(),
});

const name = identifier("_service_idempotency");
const timestampColumn = columnInfoOf(records.leaseUntil);
const leaseUntil = rawSql("lease_until");
const expiresAt = rawSql("expires_at");

const index = {
  text: "CREATE INDEX IF NOT EXISTS _service_idempotency_end ON _service_idempotency (expires_at)",
  values: [],
};

interface Found {
  readonly owner: string;
  readonly fingerprint: string;
  readonly leaseUntil: Exclude<SqlValue, null>;
  readonly expiresAt: Exclude<SqlValue, null>;
  readonly answer: string | null;
}

function whereHeld({ id, owner }: IdempotencyClaim): Fragment {
  return sql`WHERE id = ${id} AND owner = ${owner} AND answer IS NULL`;
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
