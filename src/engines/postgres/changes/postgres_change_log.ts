import type { Random } from "../../../runtime/runtime.ts";
import type { TableInfo } from "../../../schema/table_info.ts";
import type { SqlValue, Statement } from "../../../sql/fragment.ts";
import type { Connection, Driver, QueryResult, ReadLimits } from "../../../db/driver.ts";
import type { ChangeLog, ChangeLogStep } from "../../../db/changes/change_log.ts";
import { readLogSize } from "../../../db/changes/log_size.ts";
import { minRetentionMs } from "../../../db/changes/changes_options.ts";
import {
  parseLogPosition,
  type Position,
  type SnapshotPosition,
  snapshotPosition,
  snapshotText,
} from "../../../db/changes/log_position.ts";
import { changeDecoder, type DecodeChanges } from "../../../db/changes/logged_change.ts";
import { RowPolicyTables } from "./row_policy_tables.ts";
import { epochColumn, type PostgresLogTable, queryWithinEpoch } from "./set_up_postgres_log.ts";
import type { OpenSourceOptions } from "../../../db/engine/engine.ts";
import { namedColumns } from "../../../db/named_columns.ts";

export interface PostgresChangeLogOptions extends OpenSourceOptions {
  readonly driver: Driver;
  readonly tables: readonly PostgresLogTable[];
  readonly random: Random;
}

/** Opens the change log of a Postgres database. The log's tables and triggers must exist. */
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

/** A part of a step whose changes exceed one read, with the state to read the next part. */
interface UnfinishedStep extends ChangeLogStep {
  readonly from: SnapshotPosition;
  readonly target: SnapshotPosition;
  readonly lastSeq: string;
  /** The maximum number of changes in the step's next part. It is lower if rows are large. */
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

export interface LogRange {
  readonly after: SnapshotPosition;
  readonly maxRows: number;
  /** For an unfinished step: the last change that was read, and the step's end. Otherwise null. */
  readonly rest: { readonly afterSeq: string; readonly target: SnapshotPosition } | null;
}

export type PostgresLogRow = ReturnType<typeof columns.decode>;

/** A page of changes ends at this size, in bytes of logged rows, so that it fits into memory. */
const maxBytesPerPage = 16 * 1024 * 1024;

export class PostgresLogReader {
  readonly #driver: Driver;
  readonly #random: Random;
  readonly #secured: RowPolicyTables;
  readonly #state: string;

  constructor(driver: Driver, random: Random, secured: RowPolicyTables) {
    this.#driver = driver;
    this.#random = random;
    this.#secured = secured;
    this.#state = `${epochColumn}, pg_current_snapshot()::text AS snapshot, ${secured.column}`;
  }

  async end(): Promise<SnapshotPosition> {
    const [row = []] = await this.#query({ text: `SELECT ${this.#state}`, values: [] });
    return this.#positionOf(row);
  }

  async readAt(
    { text, values }: Statement,
    limits?: ReadLimits,
  ): Promise<Pick<QueryResult, "rows"> & { readonly position: SnapshotPosition }> {
    const connection = limits === undefined ? this.#driver : this.#driver.reads(limits);
    // The LEFT JOIN returns a row with the position even if the statement returns no row.
    const rows = await this.#query({
      text: `SELECT p.*, q.* FROM (SELECT ${this.#state}) AS p
        LEFT JOIN (SELECT true AS present, r.* FROM (${text}) AS r) AS q ON true`,
      values,
    }, connection);
    const [first = []] = rows;
    return {
      rows: rows.flatMap(([_epoch, _snapshot, _secured, isPresent = null, ...cells]) =>
        isPresent === null ? [] : [cells]
      ),
      position: this.#positionOf(first),
    };
  }

  /**
   * Reads the changes that are visible now but were not visible at position `after`, ordered by
   * number. A change gets its number while its row is locked, and a snapshot that sees the later of
   * two changes of a row also sees the earlier one. Therefore no change of a row is missed or out
   * of order, even if its number or transaction is old.
   *
   * The log may lack changes of transactions with ids below `floor`, because they were purged.
   */
  async changes({ after, maxRows, rest }: LogRange) {
    const values = [
      String(after.xmax),
      `{${after.running.join(",")}}`,
      maxRows + 1,
      ...(rest === null ? [] : [rest.afterSeq, snapshotText(rest.target)]),
    ];
    // `seq + 0` prevents a generic plan that reads the whole log by the index on `seq`.
    const [order, andRest] = rest === null
      ? ["seq + 0", ""]
      : ["seq", " AND seq > $4 AND pg_visible_in_snapshot(xid, $5::pg_snapshot)"];
    const cells = await this.#query({
      text: `SELECT ${columns.selectList}
        FROM (SELECT ${this.#state}, ${metaValueSql("floor")} AS floor) AS p
        LEFT JOIN (
          SELECT *, count(*) OVER () AS available,
            sum(${size("before")} + ${size("after")}) OVER (ORDER BY seq
              ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING) AS ahead
          FROM (
            SELECT * FROM "_service_changes"
            WHERE ((xid >= $1::xid8 AND xid <= ${lastXid}) OR xid = ANY ($2::xid8[]))${andRest}
            ORDER BY ${order} LIMIT $3::bigint
          ) AS next
        ) AS c ON coalesce(c.ahead, 0) < ${maxBytesPerPage} ORDER BY c.seq`,
      values,
    });
    const found = cells.map(columns.decode);
    const [head = columns.decode([])] = found;
    // If there is no change, a single row contains only the position and NULLs.
    const rows = found.filter(({ seq }) => seq !== null).slice(0, maxRows);
    return {
      position: this.#positionOf([head.epoch, head.snapshot, head.secured]),
      floor: BigInt(head.floor === null ? 0 : String(head.floor)),
      rows,
      isComplete: rows.length === Number(head.available ?? 0),
    };
  }

  #positionOf([epoch, snapshot, secured]: readonly SqlValue[]): SnapshotPosition {
    this.#secured.note(String(secured));
    return snapshotPosition(String(snapshot), String(epoch));
  }

  #query(statement: Statement, connection?: Connection): Promise<QueryResult["rows"]> {
    return queryWithinEpoch(statement, this.#driver, this.#random, connection);
  }
}

/** The largest transaction id. Without an upper bound, the planner expects a third of all rows. */
const lastXid = `'${2n ** 64n - 1n}'::xid8`;

export function metaValueSql(name: "secret" | "floor"): string {
  return `(SELECT value FROM "_service_meta" WHERE name = '${name}')`;
}

const columns = namedColumns({
  epoch: "p.epoch",
  snapshot: "p.snapshot",
  floor: "p.floor",
  secured: "p.secured",
  available: "c.available",
  seq: "c.seq",
  xid: "c.xid",
  table: 'c."table"',
  op: "c.op",
  before: "c.before",
  after: "c.after",
  optimisticId: "c.optimistic_id",
});

const size = (image: "before" | "after") => `coalesce(octet_length(${image}::text), 0)`;
