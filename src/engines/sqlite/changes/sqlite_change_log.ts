import type { TableInfo } from "../../../schema/table_info.ts";
import type { Random } from "../../../runtime/runtime.ts";
import type { SqlValue, Statement } from "../../../sql/fragment.ts";
import type { ChangeLog, ChangeLogStep } from "../../../db/changes/change_log.ts";
import {
  coversPosition,
  parseLogPosition,
  type Position,
  type SequencePosition,
} from "../../../db/changes/log_position.ts";
import { readLogSize } from "../../../db/changes/log_size.ts";
import { minRetentionMs } from "../../../db/changes/changes_options.ts";
import type { Driver, QueryResult, ReadLimits } from "../../../db/driver.ts";
import { changeDecoder, type DecodeChanges } from "../../../db/changes/logged_change.ts";
import { namedColumns, selectNamed } from "../../../db/named_columns.ts";
import { newEpoch } from "./set_up_sqlite_log.ts";
import type { OpenSourceOptions } from "../../../db/engine/engine.ts";

export interface SqliteChangeLogOptions extends Pick<OpenSourceOptions, "changes" | "hints"> {
  readonly driver: Driver;
  readonly tables: ReadonlySet<TableInfo>;
  readonly random: Random;
}

export async function openSqliteChangeLog(options: SqliteChangeLogOptions): Promise<ChangeLog> {
  const { rows } = await options.driver.query({ text: `SELECT ${meta("secret")}`, values: [] });
  const log = new SqliteChangeLog(options, String(rows[0]?.[0]));
  await log.end();
  return log;
}

/** The maximum number of changes that one read returns, because a read blocks the process. */
const maxPerStep = 500;
/** One read ends at this size, in bytes of row images, because its changes are kept in memory. */
const maxBytesPerStep = 16 * 1024 * 1024;
const maxPerPurge = 5_000;
/** The maximum number of attempts to read while the result is empty and other writes commit. */
const maxEmptyReads = 3;

const meta = (name: string) => `(SELECT value FROM "_service_meta" WHERE name = '${name}')`;
const last = (column: string) =>
  `(SELECT ${column} FROM "_service_changes" ORDER BY seq DESC LIMIT 1)`;

const logEnd = `${meta("epoch")} AS epoch,
  coalesce(${last("seq")}, CAST(${meta("floor")} AS INTEGER)) AS latest,
  coalesce(${last("mark")}, CAST(${meta("floor_mark")} AS INTEGER)) AS latest_mark`;

const heldAt = `${meta("floor")} AS floor,
  coalesce((SELECT mark FROM "_service_changes" WHERE seq = ?),
    CASE ${meta("floor")} WHEN CAST(? AS TEXT) THEN CAST(${meta("floor_mark")} AS INTEGER) ELSE -1
    END) AS held`;

const countOfStep = `(SELECT count(*) FROM (
  SELECT sum(bytes) OVER (ORDER BY seq) - bytes AS ahead FROM (
    SELECT seq, ifnull(octet_length(before), 0) + ifnull(octet_length(after), 0) AS bytes
    FROM "_service_changes" WHERE seq > ? ORDER BY seq LIMIT ${maxPerStep}
  )) WHERE ahead < ${maxBytesPerStep})`;

const columns = namedColumns({
  epoch: "e.epoch",
  latest: "e.latest",
  latestMark: "e.latest_mark",
  floor: "e.floor",
  held: "e.held",
  seq: "c.seq",
  mark: "c.mark",
  table: 'c."table"',
  op: "c.op",
  before: "c.before",
  after: "c.after",
  optimisticId: "c.optimistic_id",
});

type HeldAt = Pick<ReturnType<typeof columns.decode>, "epoch" | "floor" | "held">;

/** One statement reads the log's first valid position and the rows: no purge runs in between. */
const nextChanges = `SELECT ${columns.selectList}
  FROM (SELECT ${logEnd}, ${heldAt}) AS e LEFT JOIN (
    SELECT * FROM "_service_changes" WHERE seq > ? ORDER BY seq LIMIT ${countOfStep}
  ) AS c`;

class SqliteChangeLog implements ChangeLog {
  readonly tables: ReadonlySet<TableInfo>;
  readonly secret: string;
  readonly #options: SqliteChangeLogOptions;
  readonly #byName: ReadonlyMap<string, readonly TableInfo[]>;
  readonly #decode: DecodeChanges;
  #epoch = "";

  constructor(options: SqliteChangeLogOptions, secret: string) {
    const { driver, tables, changes } = options;
    this.tables = tables;
    this.secret = secret;
    this.#options = options;
    // SQLite ignores the case of names.
    this.#byName = Map.groupBy(tables, ({ name }) => name.toLowerCase());
    this.#decode = changeDecoder(driver, changes.exclude);
  }

  async end(): Promise<Position> {
    const { rows } = await this.#options.driver.query({ text: `SELECT ${logEnd}`, values: [] });
    return this.#position(rows[0] ?? []);
  }

  async next(from: Position | ChangeLogStep): Promise<ChangeLogStep | null> {
    const position = "changes" in from ? from.to : from;
    if (position?.kind !== "sequence") return null;
    const { seq } = position;
    const { rows } = await this.#options.driver.query({
      text: nextChanges,
      values: [seq, seq, seq, seq],
    });
    const found = rows.map(columns.decode);
    const [head = columns.decode([])] = found;
    const end = this.#position([head.epoch, head.latest, head.latestMark]);
    if (!await this.#isHeld(position, head)) return null;
    const logged = found.filter(({ seq }) => seq !== null)
      .sort((left, right) => Number(left.seq) - Number(right.seq));
    const last = logged.at(-1);
    const to = last === undefined
      ? end
      : { ...end, seq: Number(last.seq), mark: Number(last.mark) };
    const changes = logged.flatMap((row) => {
      const tables = this.#byName.get(String(row.table).toLowerCase()) ?? [];
      return this.#decode(row, { transaction: null, mark: Number(row.mark) }, tables);
    });
    return { changes, to };
  }

  async readAt(
    statement: Statement,
    limits?: ReadLimits,
  ): Promise<QueryResult & { readonly position: Position }> {
    const { driver } = this.#options;
    const connection = limits === undefined ? driver : driver.reads(limits);
    const { text, values } = statement;
    for (let tries = 1;; tries++) {
      // Reads the position first, because `result` must contain all changes up to the position.
      const before = await this.end();
      const result = await connection.query({
        text: `SELECT ${logEnd}, q.* FROM (${text}) AS q`,
        values,
      });
      const [row] = result.rows;
      const position = row === undefined ? before : this.#position(row);
      // If a later change removed rows from an empty result, the result is newer than `before`.
      const isExact = row !== undefined || coversPosition(before, await this.end());
      if (!isExact && tries < maxEmptyReads) continue;
      return { rows: result.rows.map((row) => row.slice(3)), changed: 0, position };
    }
  }

  parse(token: string): Position | null {
    const position = parseLogPosition(token);
    return position?.kind === "sequence" && position.epoch === this.#epoch ? position : null;
  }

  async holds(position: Position): Promise<boolean> {
    if (position.kind !== "sequence") return false;
    const head = await selectNamed(
      this.#options.driver,
      { epoch: "e.epoch", floor: "e.floor", held: "e.held" },
      `FROM (SELECT ${meta("epoch")} AS epoch, ${heldAt}) AS e`,
      position.seq,
      position.seq,
    );
    return head[0] !== undefined && await this.#isHeld(position, head[0]);
  }

  onHint(listener: () => void): () => void {
    return this.#options.hints.add(listener);
  }

  async purge(): Promise<void> {
    const { retentionMs, maxRows } = this.#options.changes;
    const limits = [Math.floor(retentionMs / 1000), maxRows, minRetentionMs / 1000];
    // Each round is a separate transaction, so that writers can run between two rounds.
    for (let more = true; more;) more = await this.#purgeSome(limits);
  }

  size = () => readLogSize(this.#options.driver, "strftime('%s', 'now') - f.at");

  close(): Promise<void> {
    return this.#options.hints.close();
  }

  #purgeSome([keepSeconds = 0, maxRows = 0, minSeconds = 0]: readonly number[]): Promise<boolean> {
    return this.#options.driver.transaction(async (connection) => {
      const { rows } = await connection.query({
        text: `SELECT max(seq), mark FROM (
            SELECT seq, mark, at FROM "_service_changes" ORDER BY seq LIMIT ${maxPerPurge}
          ) WHERE at < strftime('%s', 'now') - ? OR (at < strftime('%s', 'now') - ?
            AND seq <= (SELECT seq FROM sqlite_sequence WHERE name = '_service_changes') - ?)`,
        values: [keepSeconds, minSeconds, maxRows],
      });
      // SQLite returns max(seq) together with the `mark` of the same row.
      const [last = null, mark = null] = rows[0] ?? [];
      if (last === null) return false;
      await connection.query({
        text: `INSERT INTO "_service_meta" (name, value) VALUES ('floor', ?), ('floor_mark', ?)
          ON CONFLICT (name) DO UPDATE SET value = excluded.value`,
        values: [String(last), String(mark)],
      });
      await connection.query({
        text: `UPDATE sqlite_sequence SET seq = max(seq, ?) WHERE name = '_service_changes'`,
        values: [last],
      });
      const { changed } = await connection.query({
        text: `DELETE FROM "_service_changes" WHERE seq <= ?`,
        values: [last],
      });
      return changed === maxPerPurge;
    });
  }

  /** A restored file can repeat the epoch and numbers, but not the random marks. */
  async #isHeld({ epoch, seq, mark }: SequencePosition, at: HeldAt): Promise<boolean> {
    if (epoch !== at.epoch || seq < Number(at.floor)) return false;
    if (mark === Number(at.held)) return true;
    await this.#options.driver.query({
      text: `UPDATE "_service_meta" SET value = ? WHERE name = 'epoch' AND value = ?`,
      values: [newEpoch(this.#options.random), epoch],
    });
    return false;
  }

  #position([epoch, seq, mark]: readonly SqlValue[]): SequencePosition {
    this.#epoch = String(epoch);
    return { kind: "sequence", epoch: this.#epoch, seq: Number(seq), mark: Number(mark) };
  }
}
