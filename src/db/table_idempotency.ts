import {
  type ClaimResult,
  type IdempotencyClaim,
  idempotencyLeaseMs,
  type IdempotencyStore,
  type StoredAnswer,
} from "../runtime/idempotency_store.ts";
import type { Clock } from "../runtime/runtime.ts";
import { StoreError } from "../runtime/store_error.ts";
import { integer, text } from "../schema/column_builder.ts";
import { columnInfoKey, readTableInfo, table } from "../schema/define.ts";
import {
  type Fragment,
  identifier,
  rawSql,
  sql,
  type SqlValue,
  toStatement,
} from "../sql/fragment.ts";
import { createTables } from "./create_tables.ts";
import { DatabaseError } from "./database_error.ts";
import type { Connection, Driver, QueryResult } from "./driver.ts";
import { retrying } from "./transact.ts";

/** Keeps answers in a table beside those that are written. */
export interface TableIdempotency extends IdempotencyStore {
  /** Creates the table where it is not there; the first claim would do it, too. */
  prepare(): Promise<void>;
  /**
   * Keeps the answer in the transaction that it tells of: both are stored, or neither. False where
   * somebody else has taken the key over; the transaction must then end without a commit.
   */
  finishWithin(
    claim: IdempotencyClaim,
    answer: StoredAnswer,
    connection: Connection,
  ): Promise<boolean>;
}

/** What {@link createTableIdempotency} works with. */
export interface TableIdempotencyParts {
  readonly driver: Driver;
  readonly ttlMs: number;
  readonly clock: Clock;
}

/** In a table of its own, `_service_idempotency`. */
export function createTableIdempotency(parts: TableIdempotencyParts): TableIdempotency {
  const { driver, ttlMs, clock } = parts;
  const { dialect } = driver;
  let preparation: Promise<void> | null = null;
  let nextSweepAt = 0;

  function prepare(): Promise<void> {
    return preparation ??= createTables(driver, [readTableInfo(records)], [index])
      .catch((error) => {
        // Whoever comes next tries again.
        preparation = null;
        throw error;
      });
  }

  async function claim(claim: IdempotencyClaim): Promise<ClaimResult> {
    await prepare();
    await sweep();
    for (;;) {
      if (await insert(claim)) return { kind: "claimed" };
      const found = await read(claim);
      if (found === null) continue;
      const { fingerprint, answer } = found;
      const isGone = Number(found.expiresAt) <= clock.now();
      if (!isGone && answer !== null) {
        return { kind: "finished", fingerprint, answer: readAnswer(answer) };
      }
      if (!isGone && Number(found.leaseUntil) > clock.now()) {
        return { kind: "in-flight", fingerprint };
      }
      if (await takeOver(claim, found)) return { kind: "claimed" };
    }
  }

  /** Seldom, because nobody finds an old answer anyway: they only take up room. */
  async function sweep(): Promise<void> {
    const now = clock.now();
    if (now < nextSweepAt) return;
    nextSweepAt = now + sweepMs;
    await run(sql`DELETE FROM ${name} WHERE ${expiresAt} <= ${bound(now)}`);
  }

  async function insert({ id, owner, fingerprint }: IdempotencyClaim): Promise<boolean> {
    const { changed } = await run(
      sql`INSERT INTO ${name} (id, owner, fingerprint, ${leaseUntil}, ${expiresAt})
        VALUES (${id}, ${owner}, ${fingerprint}, ${leaseEnd()}, ${recordEnd()})
        ON CONFLICT (id) DO NOTHING`,
    );
    return changed > 0;
  }

  async function read({ id }: IdempotencyClaim): Promise<Found | null> {
    const { rows: [row] } = await run(
      sql`SELECT owner, fingerprint, ${leaseUntil}, ${expiresAt}, answer
        FROM ${name} WHERE id = ${id}`,
    );
    if (row === undefined) return null;
    const [owner, fingerprint, leaseUntilMs, expiresAtMs, answer] = row;
    return {
      owner: String(owner),
      fingerprint: String(fingerprint),
      leaseUntil: leaseUntilMs ?? 0,
      expiresAt: expiresAtMs ?? 0,
      answer: typeof answer === "string" ? answer : null,
    };
  }

  /** Only from whom it was found to be, in the state it was found in. */
  async function takeOver(
    { id, owner, fingerprint }: IdempotencyClaim,
    found: Found,
  ): Promise<boolean> {
    const { changed } = await run(
      sql`UPDATE ${name} SET owner = ${owner}, fingerprint = ${fingerprint}, answer = NULL,
          ${leaseUntil} = ${leaseEnd()}, ${expiresAt} = ${recordEnd()}
        WHERE id = ${id} AND owner = ${found.owner}
          AND ${leaseUntil} = ${bound(found.leaseUntil)}
          AND ${expiresAt} = ${bound(found.expiresAt)}`,
    );
    return changed > 0;
  }

  function finish(claim: IdempotencyClaim, answer: StoredAnswer): Fragment {
    return sql`UPDATE ${name} SET answer = ${JSON.stringify(answer)}, ${expiresAt} = ${recordEnd()}
      ${whereHeld(claim)}`;
  }

  function leaseEnd(): Fragment {
    return bound(clock.now() + idempotencyLeaseMs);
  }

  function recordEnd(): Fragment {
    return bound(clock.now() + ttlMs);
  }

  function bound(moment: SqlValue): Fragment {
    return dialect.boundStored(moment, records.leaseUntil[columnInfoKey]);
  }

  async function run(fragment: Fragment): Promise<QueryResult> {
    const statement = toStatement(fragment, dialect.placeholder);
    return await retrying(driver, (connection) => connection.query(statement));
  }

  return {
    prepare: () => asStore(prepare),
    claim: (request) => asStore(() => claim(request)),
    renew: (claim) =>
      asStore(async () => {
        await run(sql`UPDATE ${name} SET ${leaseUntil} = ${leaseEnd()} ${whereHeld(claim)}`);
      }),
    finish: (claim, answer) =>
      asStore(async () => {
        await run(finish(claim, answer));
      }),
    release: (claim) =>
      asStore(async () => {
        await run(sql`DELETE FROM ${name} ${whereHeld(claim)}`);
      }),
    async finishWithin(claim, answer, connection) {
      const statement = toStatement(finish(claim, answer), dialect.placeholder);
      return (await connection.query(statement)).changed > 0;
    },
  };
}

/** Between two sweeps. */
const sweepMs = 600_000;

const records = table("_service_idempotency", {
  id: text().primaryKey(),
  owner: text().notNull(),
  fingerprint: text().notNull(),
  leaseUntil: integer().notNull().as("lease_until"),
  expiresAt: integer().notNull().as("expires_at"),
  /** Null while somebody is at work. */
  answer: text(),
});

const name = identifier("_service_idempotency");
const leaseUntil = rawSql("lease_until");
const expiresAt = rawSql("expires_at");

/** For the sweep: keys are no order of time. */
const index = {
  text: "CREATE INDEX IF NOT EXISTS _service_idempotency_end ON _service_idempotency (expires_at)",
  values: [],
};

/** A record as it was found. */
interface Found {
  readonly owner: string;
  readonly fingerprint: string;
  readonly leaseUntil: Exclude<SqlValue, null>;
  readonly expiresAt: Exclude<SqlValue, null>;
  readonly answer: string | null;
}

/** Whoever lost the key, or has answered, changes nothing any more. */
function whereHeld({ id, owner }: IdempotencyClaim): Fragment {
  return sql`WHERE id = ${id} AND owner = ${owner} AND answer IS NULL`;
}

function readAnswer(answer: string): StoredAnswer {
  // Nobody else writes this table.
  return JSON.parse(answer) as StoredAnswer;
}

/** To its caller this is a store like any other. */
async function asStore<T>(work: () => Promise<T>): Promise<T> {
  try {
    return await work();
  } catch (error) {
    if (!(error instanceof DatabaseError)) throw error;
    const kind = error.kind === "unknown-outcome" ? "unknown-outcome" : "unavailable";
    throw new StoreError(kind, error);
  }
}
