import type { Random } from "../../../runtime/runtime.ts";
import type { TableInfo } from "../../../schema/table_info.ts";
import type { Statement } from "../../../sql/fragment.ts";
import type { Driver, QueryResult, ReadLimits } from "../../../db/driver.ts";
import type { ChangeLog, ChangeLogStep } from "../../../db/changes/change_log.ts";
import { readLogSize } from "../../../db/changes/log_size.ts";
import { minRetentionMs } from "../../../db/changes/changes_options.ts";
import {
  parseLogPosition,
  type Position,
  type SnapshotPosition,
} from "../../../db/changes/log_position.ts";
import { changeDecoder, type DecodeChanges } from "../../../db/changes/logged_change.ts";
import { RowPolicyTables } from "./row_policy_tables.ts";
import type { PostgresLogTable } from "./set_up_postgres_log.ts";
import type { OpenSourceOptions } from "../../../db/engine/engine.ts";
import { metaValueSql, PostgresLogReader } from "./postgres_log_reader.ts";

export interface PostgresChangeLogOptions extends OpenSourceOptions {
  readonly driver: Driver;
  readonly tables: readonly PostgresLogTable[];
  readonly random: Random;
}

export async function openPostgresChangeLog(options: PostgresChangeLogOptions): Promise<ChangeLog> {
  const { rows } = await options.driver.query({
    text: `SELECT ${metaValueSql("secret")}`,
    values: [],
  });
  const log = new PostgresChangeLog(options, String(rows[0]?.[0]));
  await log.end();
  return log;
}

export const maxChangesPerStepPart = 1_000;
const maxPerPurge = 5_000;

/** A step that ended before `target`, with the state from which the next step continues. */
interface UnfinishedStep extends ChangeLogStep {
  readonly from: SnapshotPosition;
  readonly target: SnapshotPosition;
  readonly lastSeq: string;
  /** The maximum number of changes in the next read. It is lower if rows are large. */
  readonly maxChanges: number;
  readonly to: null;
}

class PostgresChangeLog implements ChangeLog {
  readonly tables: ReadonlySet<TableInfo>;
  readonly secret: string;
  readonly #options: PostgresChangeLogOptions;
  readonly #byName: ReadonlyMap<string, readonly PostgresLogTable[]>;
  readonly #reader: PostgresLogReader;
  readonly #decode: DecodeChanges;
  #epoch = "";

  constructor(options: PostgresChangeLogOptions, secret: string) {
    const { driver, tables, changes, random, onSecured } = options;
    this.tables = new Set(tables.map(({ table }) => table));
    this.secret = secret;
    this.#options = options;
    this.#byName = Map.groupBy(tables, ({ name }) => name);
    this.#reader = new PostgresLogReader(
      driver,
      random,
      new RowPolicyTables([...this.tables], onSecured),
    );
    this.#decode = changeDecoder(driver, changes.exclude);
  }

  async end(): Promise<Position> {
    return this.#noteEpoch(await this.#reader.end());
  }

  async next(from: Position | ChangeLogStep): Promise<ChangeLogStep | null> {
    const part = isUnfinished(from) ? from : null;
    const start = part?.from ?? ("changes" in from ? from.to : from);
    if (start?.kind !== "snapshot") return null;
    const page = await this.#reader.changes({
      after: start,
      maxRows: part?.maxChanges ?? maxChangesPerStepPart,
      rest: part === null ? null : { afterSeq: part.lastSeq, target: part.target },
    });
    const { rows, floor } = page;
    const now = this.#noteEpoch(page.position);
    const isLost = start.epoch !== now.epoch || start.xmax > now.xmax || start.xmin < floor;
    if (isLost) return null;
    const target = part?.target ?? now;
    const changes = rows.flatMap((row) => {
      const logged = this.#byName.get(String(row.table)) ?? [];
      const place = { transaction: BigInt(String(row.xid)), mark: null };
      return this.#decode(row, place, logged.map(({ table }) => table));
    });
    if (page.isComplete) return { changes, to: target };
    const unfinished: UnfinishedStep = {
      changes,
      to: null,
      from: start,
      target,
      lastSeq: String(rows.at(-1)?.seq),
      maxChanges: Math.min(2 * rows.length, maxChangesPerStepPart),
    };
    return unfinished;
  }

  async readAt(
    statement: Statement,
    limits?: ReadLimits,
  ): Promise<QueryResult & { readonly position: Position }> {
    const { rows, position } = await this.#reader.readAt(statement, limits);
    return { rows, changed: 0, position: this.#noteEpoch(position) };
  }

  parse(token: string): Position | null {
    const position = parseLogPosition(token);
    return position?.kind === "snapshot" && position.epoch === this.#epoch ? position : null;
  }

  /** Returns true, because `parse` has already rejected positions of other epochs. */
  holds = () => true;

  onHint(listener: () => void): () => void {
    return this.#options.hints.add(listener);
  }

  async purge(): Promise<void> {
    // Each round is a separate transaction, so that writers can run between two rounds.
    for (let more = true; more;) more = await this.#purgeSome();
  }

  size = () => readLogSize(this.#options.driver, "extract(epoch FROM clock_timestamp() - f.at)");

  close(): Promise<void> {
    return this.#options.hints.close();
  }

  /** Deletes only changes that precede every open transaction, so readers' positions stay valid. */
  #purgeSome(): Promise<boolean> {
    const { retentionMs, maxRows } = this.#options.changes;
    return this.#options.driver.transaction(async (connection) => {
      const { rows } = await connection.query({
        text: `SELECT value FROM "_service_meta" WHERE name = 'floor' FOR UPDATE SKIP LOCKED`,
        values: [],
      });
      // Another process holds the lock and purges.
      if (rows.length === 0) return false;
      const purged = await connection.query({
        text: `WITH old AS (
            SELECT seq FROM (
              SELECT seq, xid, at FROM "_service_changes" ORDER BY seq LIMIT ${maxPerPurge}
            ) AS oldest
            WHERE xid < pg_snapshot_xmin(pg_current_snapshot()) AND (
              at < clock_timestamp() - $1 * interval '1 millisecond'
              OR (at < clock_timestamp() - $2 * interval '1 millisecond'
                AND seq <= (SELECT max(seq) FROM "_service_changes") - $3::bigint))
          ), gone AS (
            DELETE FROM "_service_changes" c USING old WHERE c.seq = old.seq RETURNING c.xid
          )
          SELECT count(*), max(xid::text::numeric) + 1 FROM gone`,
        values: [retentionMs, minRetentionMs, maxRows],
      });
      const [count = null, floor = null] = purged.rows[0] ?? [];
      if (floor !== null) {
        await connection.query({
          text: `UPDATE "_service_meta" SET value = greatest(value::numeric, $1::numeric)::text
            WHERE name = 'floor'`,
          values: [floor],
        });
      }
      return Number(count) === maxPerPurge;
    });
  }

  /** Remembers the epoch of the position. Then `parse` rejects tokens of other epochs. */
  #noteEpoch(position: SnapshotPosition): SnapshotPosition {
    this.#epoch = position.epoch;
    return position;
  }
}

function isUnfinished(from: Position | ChangeLogStep): from is UnfinishedStep {
  return "changes" in from && from.to === null;
}
