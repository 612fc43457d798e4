import type { TableInfo } from "../../schema/table_info.ts";
import type { SqlValue, Statement } from "../../sql/fragment.ts";
import type { ChangeHints } from "./change_hints.ts";
import type { Change, ChangeLog, Step } from "./change_log.ts";
import {
  covers,
  includes,
  parsePosition,
  type Position,
  printPosition,
  type SequencePosition,
} from "./log_position.ts";
import { minRetentionMs, type ResolvedChangesOptions } from "./changes_options.ts";
import type { Driver, QueryResult, ReadLimits } from "../driver.ts";
import { imageDecoder, wholeImages } from "./image_decoder.ts";
import { changeKind, type DecodeImage, LoggedChange, rowOfWholeImages } from "./logged_change.ts";
import { namedColumns, textOrNull } from "../named_columns.ts";
import { createRowReader } from "../rows.ts";

/** The options of a change log on SQLite. */
export interface SqliteChangeLogOptions {
  readonly driver: Driver;
  readonly tables: ReadonlySet<TableInfo>;
  readonly changes: ResolvedChangesOptions;
  readonly hints: ChangeHints;
}

/** The change log of a SQLite file that has been set up, for reading its changes step by step. */
export async function sqliteChangeLog(options: SqliteChangeLogOptions): Promise<ChangeLog> {
  const { rows } = await options.driver.query({ text: `SELECT ${secret}`, values: [] });
  const log = new SqliteChangeLog(options, String(rows[0]?.[0]));
  await log.end();
  return log;
}

/** The most changes of a step: the process does nothing else while it reads the rows. */
const maxPerStep = 500;
/** With so many bytes of images a step is full: rows may be large, and memory is limited. */
const maxBytesPerStep = 16 * 1024 * 1024;
const maxPerPurge = 5_000;

/**
 * The epoch and the last number of the log. SQLite forgets to write down the last number of a
 * statement that ends by OR FAIL, and keeps its rows.
 */
const logEnd = `(SELECT value FROM "_service_meta" WHERE name = 'epoch') AS epoch,
  max(coalesce((SELECT seq FROM sqlite_sequence WHERE name = '_service_changes'), 0),
    coalesce((SELECT max(seq) FROM "_service_changes"), 0)) AS latest`;
const secret = `(SELECT value FROM "_service_meta" WHERE name = 'secret')`;
const floor = `(SELECT value FROM "_service_meta" WHERE name = 'floor') AS floor`;

/** How many changes the next step has: one at least. A size is known without reading the image. */
const countOfStep = `(SELECT count(*) FROM (
  SELECT sum(bytes) OVER (ORDER BY seq) - bytes AS ahead FROM (
    SELECT seq, ifnull(octet_length(before), 0) + ifnull(octet_length(after), 0) AS bytes
    FROM "_service_changes" WHERE seq > ? ORDER BY seq LIMIT ${maxPerStep}
  )) WHERE ahead < ${maxBytesPerStep})`;

/** The state of the log, and a change, whose columns are NULL where there is none. */
const columns = namedColumns({
  epoch: "e.epoch",
  latest: "e.latest",
  floor: "e.floor",
  seq: "c.seq",
  table: 'c."table"',
  op: "c.op",
  before: "c.before",
  after: "c.after",
  optimisticId: "c.optimistic_id",
});

type LogRow = ReturnType<typeof columns.decode>;

/** One statement, so that no purge comes between the read of the floor and that of the rows. */
const nextChanges = `SELECT ${columns.selectList}
  FROM (SELECT ${logEnd}, ${floor}) AS e LEFT JOIN (
    SELECT * FROM "_service_changes" WHERE seq > ? ORDER BY seq LIMIT ${countOfStep}
  ) AS c`;

class SqliteChangeLog implements ChangeLog {
  readonly tables: ReadonlySet<TableInfo>;
  readonly secret: string;
  readonly covers: ChangeLog["covers"] = covers;
  readonly includes: ChangeLog["includes"] = includes;
  readonly print: ChangeLog["print"] = printPosition;
  readonly #options: SqliteChangeLogOptions;
  readonly #byName: ReadonlyMap<string, readonly TableInfo[]>;
  readonly #decodeImage: DecodeImage;
  readonly #isWhole: (image: string, table: TableInfo) => boolean;
  #epoch = "";

  constructor(options: SqliteChangeLogOptions, secret: string) {
    const { driver, tables, changes } = options;
    this.tables = tables;
    this.secret = secret;
    this.#options = options;
    // Names as SQLite compares them.
    this.#byName = Map.groupBy(tables, ({ name }) => name.toLowerCase());
    const reader = createRowReader(driver.dialect, () => {});
    this.#decodeImage = imageDecoder(reader, changes.exclude);
    this.#isWhole = wholeImages("sqlite", changes.exclude);
  }

  async end(): Promise<Position> {
    const { rows } = await this.#options.driver.query({ text: `SELECT ${logEnd}`, values: [] });
    return this.#position(rows[0] ?? []);
  }

  async next(from: Position | Step): Promise<Step | null> {
    const position = "changes" in from ? from.to : from;
    if (position?.kind !== "sequence") return null;
    const { seq } = position;
    const { rows } = await this.#options.driver.query({ text: nextChanges, values: [seq, seq] });
    const found = rows.map(columns.decode);
    const [head = columns.decode([])] = found;
    const end = this.#position([head.epoch, head.latest]);
    const isLost = position.epoch !== end.epoch || seq > end.seq || seq < Number(head.floor);
    if (isLost) return null;
    const logged = found.filter(({ seq }) => seq !== null)
      .sort((left, right) => Number(left.seq) - Number(right.seq));
    const last = Number(logged.at(-1)?.seq ?? end.seq);
    return { changes: logged.flatMap((row) => this.#changes(row)), to: { ...end, seq: last } };
  }

  async readAt(
    statement: Statement,
    limits?: ReadLimits,
  ): Promise<QueryResult & { readonly position: Position }> {
    const { driver } = this.#options;
    const connection = limits === undefined ? driver : driver.reads(limits);
    const { text, values } = statement;
    const [before, result] = await Promise.all([
      this.end(),
      connection.query({ text: `SELECT ${logEnd}, q.* FROM (${text}) AS q`, values }),
    ]);
    const [row] = result.rows;
    return {
      rows: result.rows.map((row) => row.slice(2)),
      changed: 0,
      position: row === undefined ? before : this.#position(row),
    };
  }

  parse(token: string): Position | null {
    const position = parsePosition(token);
    return position?.kind === "sequence" && position.epoch === this.#epoch ? position : null;
  }

  onHint(listener: () => void): () => void {
    return this.#options.hints.add(listener);
  }

  async purge(): Promise<void> {
    const { retentionMs, maxRows } = this.#options.changes;
    const limits = [Math.floor(retentionMs / 1000), maxRows, minRetentionMs / 1000];
    // Each round is a transaction of its own, so that writers come between two of them.
    for (let more = true; more;) more = await this.#purgeSome(limits);
  }

  close(): Promise<void> {
    return this.#options.hints.close();
  }

  /** Whether there may be more. */
  #purgeSome(
    [keepSeconds = 0, maxRows = 0, minSeconds = 0]: readonly number[],
  ): Promise<boolean> {
    return this.#options.driver.transaction(async (connection) => {
      const { rows } = await connection.query({
        text: `SELECT max(seq) FROM (
            SELECT seq, at FROM "_service_changes" ORDER BY seq LIMIT ${maxPerPurge}
          ) WHERE at < strftime('%s', 'now') - ? OR (at < strftime('%s', 'now') - ?
            AND seq <= (SELECT seq FROM sqlite_sequence WHERE name = '_service_changes') - ?)`,
        values: [keepSeconds, minSeconds, maxRows],
      });
      const last = rows[0]?.[0] ?? null;
      if (last === null) return false;
      await connection.query({
        text: `UPDATE "_service_meta" SET value = ? WHERE name = 'floor'`,
        values: [String(last)],
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

  #position([epoch, seq]: readonly SqlValue[]): SequencePosition {
    this.#epoch = String(epoch);
    return { kind: "sequence", epoch: this.#epoch, seq: Number(seq) };
  }

  /** None for a table that another process records; several where it was declared twice. */
  #changes({ seq, table: name, op, before, after, optimisticId }: LogRow): Change[] {
    const tables = this.#byName.get(String(name).toLowerCase()) ?? [];
    return tables.map((table) =>
      new LoggedChange(
        rowOfWholeImages({
          seq: Number(seq),
          transaction: null,
          table,
          kind: changeKind(String(op)),
          before: textOrNull(before),
          after: textOrNull(after),
          optimisticId: textOrNull(optimisticId),
        }, this.#isWhole),
        this.#decodeImage,
      )
    );
  }
}
