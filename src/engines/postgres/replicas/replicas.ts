import { DatabaseError } from "../../../db/database_error.ts";
import type { Connection, DatabaseIdentity, Driver, ReadLimits } from "../../../db/driver.ts";
import type { TransactionGuard } from "../../../db/transact.ts";
import type { Statement } from "../../../sql/fragment.ts";
import { type PrimaryPosition, Replica, type ReplicaParts } from "./replica.ts";

export interface ReplicasOptions extends Pick<ReplicaParts, "clock" | "notice"> {
  readonly drivers: readonly Driver[];
  readonly primary: Pick<Driver, "query">;
}

/**
 * Runs reads on standby servers. Before each read, the primary is asked for its log position, and
 * the read waits until the standby has reached this position. So a read never misses a change that
 * was committed before the read began.
 */
export class Replicas {
  readonly all: readonly Replica[];
  readonly #primary: Pick<Driver, "query">;
  #asked: Promise<PrimaryPosition> | null = null;
  #running: Promise<unknown> = Promise.resolve();
  #turn = 0;

  constructor({ drivers, primary, ...parts }: ReplicasOptions) {
    const position = () => this.#position();
    this.all = drivers.map((driver) => new Replica({ driver, position, ...parts }));
    this.#primary = primary;
  }

  reads(
    limits: ReadLimits,
    primary: Connection,
    { guard, identity }: {
      readonly guard: TransactionGuard;
      readonly identity?: DatabaseIdentity;
    },
  ): Connection {
    const replica = limits.allowsReplica === true ? this.#next() : null;
    if (replica === null) return primary;
    let onReplica: Connection | null = null;
    return {
      query: async (statement) => {
        guard.check();
        if (!replica.isUsable || !await replica.isCurrent()) return await primary.query(statement);
        try {
          const result = await (onReplica ??= replica.reads(limits, identity)).query(statement);
          replica.counts.read++;
          return result;
        } catch (error) {
          if (isLimit(error)) {
            replica.distrust();
            throw error;
          }
          // For example, a standby cancels reads of rows that vacuum removed. The primary can read.
          replica.fails(error);
          return await primary.query(statement);
        }
      },
    };
  }

  #next(): Replica | null {
    const usable = this.all.filter(({ isUsable }) => isUsable);
    return usable[this.#turn++ % usable.length] ?? null;
  }

  /**
   * Reads the primary's position. Calls during a running query share the next query, because the
   * running query may have begun before a change that the calls must see.
   */
  #position(): Promise<PrimaryPosition> {
    return this.#asked ??= this.#running.then(() => {
      this.#asked = null;
      const reading = this.#readPosition();
      this.#running = reading.catch(() => {});
      return reading;
    });
  }

  async #readPosition(): Promise<PrimaryPosition> {
    const { rows: [row] } = await this.#primary.query(committed);
    return { bytes: Number(row?.[0]), cluster: String(row?.[1]) };
  }
}

/** True if the read has exceeded a limit, which it would exceed on the primary as well. */
function isLimit(error: unknown): boolean {
  return error instanceof DatabaseError && limits.has(error.kind);
}

const limits: ReadonlySet<string> = new Set(["too-slow", "too-large", "overloaded"]);

/** If `synchronous_commit` is off, commits precede the flush: only the insert position counts. */
const committed: Statement = {
  text: `SELECT CASE current_setting('synchronous_commit') WHEN 'off'
    THEN pg_current_wal_insert_lsn() ELSE pg_current_wal_flush_lsn() END - '0/0'::pg_lsn,
    (SELECT system_identifier FROM pg_control_system())`,
  values: [],
  isSingle: true,
};
