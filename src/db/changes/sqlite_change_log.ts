import type { TableInfo } from "../../schema/table_info.ts";
import type { SqlValue, Statement } from "../../sql/fragment.ts";
import type { ChangeHints } from "./change_hints.ts";
import type { Change, ChangeLog, Position, SequencePosition, Step } from "./change_log.ts";
import { covers, includes, parsePosition, printPosition } from "./log_position.ts";
import { minRetentionMs, type ResolvedChangesOptions } from "./changes_options.ts";
import type { Driver, QueryResult } from "../driver.ts";
import { imageDecoder } from "./image_decoder.ts";
import { changeKind, type DecodeImage, LoggedChange } from "./logged_change.ts";
import { createRowReader } from "../rows.ts";

/** What a log is made of. */
export interface SqliteChangeLogOptions {
  readonly driver: Driver;
  readonly tables: ReadonlySet<TableInfo>;
  readonly changes: ResolvedChangesOptions;
  readonly hints: ChangeHints;
}

/** The log of a SQLite file, which has been set up. */
export async function sqliteChangeLog(parts: SqliteChangeLogOptions): Promise<ChangeLog> {
  const { rows } = await parts.driver.query({ text: `SELECT ${secret}`, values: [] });
  const log = new SqliteChangeLog(parts, String(rows[0]?.[0]));
  await log.end();
  return log;
}

/** The most changes of a step: rows are read in one go, and nothing else runs meanwhile. */
const maxPerStep = 500;
/** With so many bytes of images a step is full: rows may be large, and none may fill the memory. */
const maxBytesPerStep = 16 * 1024 * 1024;
const maxPerPurge = 5_000;

/**
 * Where the log ends, what it is called and where it begins, read at one moment. SQLite forgets to
 * write down the last number of a statement that ends by OR FAIL, and keeps its rows.
 */
const ends = `(SELECT value FROM "_service_meta" WHERE name = 'epoch') AS epoch,
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

class SqliteChangeLog implements ChangeLog {
  readonly tables: ReadonlySet<TableInfo>;
  readonly secret: string;
  readonly covers: ChangeLog["covers"] = covers;
  readonly includes: ChangeLog["includes"] = includes;
  readonly print: ChangeLog["print"] = printPosition;
  readonly #options: SqliteChangeLogOptions;
  readonly #byName: ReadonlyMap<string, readonly TableInfo[]>;
  readonly #read: DecodeImage;
  #epoch = "";

  constructor(options: SqliteChangeLogOptions, secret: string) {
    const { driver, tables, changes } = options;
    this.tables = tables;
    this.secret = secret;
    this.#options = options;
    // Names as SQLite compares them.
    this.#byName = Map.groupBy(tables, ({ name }) => name.toLowerCase());
    const reader = createRowReader(driver.dialect, () => {});
    this.#read = imageDecoder(reader, changes.exclude);
  }

  async end(): Promise<Position> {
    const { rows } = await this.#options.driver.query({ text: `SELECT ${ends}`, values: [] });
    return this.#position(rows[0] ?? []);
  }

  async next(from: Position | Step): Promise<Step | null> {
    const position = "changes" in from ? from.to : from;
    if (position?.kind !== "sequence") return null;
    // One statement, so that nothing can be forgotten between the look at the floor and the rows.
    const text = `SELECT NULL AS seq, ${ends}, ${floor}, NULL, NULL, NULL
      UNION ALL SELECT * FROM (
        SELECT seq, "table", op, before, after, optimistic_id, NULL
        FROM "_service_changes" WHERE seq > ? ORDER BY seq LIMIT ${countOfStep}
      )`;
    const { seq } = position;
    const { rows } = await this.#options.driver.query({ text, values: [seq, seq] });
    const [, ...head] = rows.find(([seq]) => seq === null) ?? [];
    const end = this.#position(head);
    const lost = position.epoch !== end.epoch || seq > end.seq || seq < Number(head[2]);
    if (lost) return null;
    const logged = rows.filter(([seq]) => seq !== null)
      .sort(([left], [right]) => Number(left) - Number(right));
    const last = Number(logged.at(-1)?.[0] ?? end.seq);
    return { changes: logged.flatMap((row) => this.#changes(row)), to: { ...end, seq: last } };
  }

  async readAt(statement: Statement): Promise<QueryResult & { readonly position: Position }> {
    const { driver } = this.#options;
    const { text, values } = statement;
    const [before, result] = await Promise.all([
      this.end(),
      driver.query({ text: `SELECT ${ends}, q.* FROM (${text}) AS q`, values }),
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

  onHint(look: () => void): () => void {
    return this.#options.hints.add(look);
  }

  async purge(): Promise<void> {
    const { retentionMs, maxRows } = this.#options.changes;
    const limits = [Math.floor(retentionMs / 1000), maxRows, minRetentionMs / 1000];
    // Between two parts those who write have their turn.
    for (let more = true; more;) more = await this.#forgetSome(limits);
  }

  close(): Promise<void> {
    return this.#options.hints.close();
  }

  /** Whether there may be more. */
  #forgetSome(
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
  #changes([seq, table, op, before, after, optimisticId]: readonly SqlValue[]): Change[] {
    const tables = this.#byName.get(String(table).toLowerCase()) ?? [];
    return tables.map((table) =>
      new LoggedChange({
        seq: Number(seq),
        transaction: null,
        table,
        kind: changeKind(String(op)),
        before: textOrNull(before),
        after: textOrNull(after),
        optimisticId: textOrNull(optimisticId),
      }, this.#read)
    );
  }
}

function textOrNull(value: SqlValue | undefined): string | null {
  return typeof value === "string" ? value : null;
}
