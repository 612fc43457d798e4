import type { Random } from "../../runtime/runtime.ts";
import type { TableInfo } from "../../schema/table_info.ts";
import { quoteIdentifier, type SqlValue, type Statement } from "../../sql/fragment.ts";
import { postgresLiteral } from "../../sql/postgres/change_log_schema.ts";
import type { ChangeHints } from "./change_hints.ts";
import type { Change, ChangeLog, Position, SnapshotPosition, Step } from "./change_log.ts";
import {
  covers,
  includes,
  parsePosition,
  printPosition,
  snapshotPosition,
  snapshotText,
} from "./log_position.ts";
import { minRetentionMs, type ResolvedChangesOptions } from "./changes_options.ts";
import { DatabaseError } from "../database_error.ts";
import type { Driver, QueryResult } from "../driver.ts";
import { imageDecoder } from "./image_decoder.ts";
import { changeKind, type DecodeImage, LoggedChange } from "./logged_change.ts";
import { epochColumn, queryWithinEpoch } from "./postgres_epoch.ts";
import type { PostgresLogTable } from "./set_up_postgres_log.ts";
import { createRowReader } from "../rows.ts";

/** What a log is made of. */
export interface PostgresChangeLogOptions {
  readonly driver: Driver;
  readonly tables: readonly PostgresLogTable[];
  readonly changes: ResolvedChangesOptions;
  readonly hints: ChangeHints;
  readonly random: Random;
}

/** The log of a Postgres, which has been set up. */
export async function postgresChangeLog(parts: PostgresChangeLogOptions): Promise<ChangeLog> {
  const { rows } = await parts.driver.query({ text: `SELECT ${meta("secret")}`, values: [] });
  const log = new PostgresChangeLog(parts, String(rows[0]?.[0]));
  await log.end();
  return log;
}

/** The most changes of a part of a step. */
export const maxChangesPerPart = 1_000;
/** With so many bytes of images a part is full: rows may be large, and none may fill the memory. */
const maxBytesPerPart = 16 * 1024 * 1024;
const maxPerPurge = 5_000;

const meta = (name: string) => `(SELECT value FROM "_service_meta" WHERE name = '${name}')`;
const ends = `pg_current_snapshot()::text AS position, ${epochColumn}`;

/** A step that was too large for one answer. */
interface UnfinishedStep extends Step {
  readonly from: SnapshotPosition;
  readonly target: SnapshotPosition;
  readonly lastSeq: string;
  /** The most changes of the next part: who looks at many large ones to show a few is slow. */
  readonly most: number;
  readonly to: null;
}

class PostgresChangeLog implements ChangeLog {
  readonly tables: ReadonlySet<TableInfo>;
  readonly secret: string;
  readonly covers: ChangeLog["covers"] = covers;
  readonly includes: ChangeLog["includes"] = includes;
  readonly print: ChangeLog["print"] = printPosition;
  readonly #options: PostgresChangeLogOptions;
  readonly #byName: ReadonlyMap<string, readonly PostgresLogTable[]>;
  readonly #read: DecodeImage;
  #epoch = "";

  constructor(options: PostgresChangeLogOptions, secret: string) {
    const { driver, tables, changes } = options;
    this.tables = new Set(tables.map(({ table }) => table));
    this.secret = secret;
    this.#options = options;
    this.#byName = Map.groupBy(tables, ({ name }) => name);
    const reader = createRowReader(driver.dialect, () => {});
    this.#read = imageDecoder(reader, changes.exclude);
  }

  async end(): Promise<Position> {
    const [row = []] = await this.#query({ text: `SELECT ${ends}`, values: [] });
    return this.#position(row);
  }

  async next(from: Position | Step): Promise<Step | null> {
    const part = isUnfinished(from) ? from : null;
    const start = part?.from ?? ("changes" in from ? from.to : from);
    if (start?.kind !== "snapshot") return null;
    const most = part?.most ?? maxChangesPerPart;
    const rows = await this.#rowsAfter(start, most, part);
    const [head = []] = rows;
    const now = this.#position(head);
    const lost = start.epoch !== now.epoch || start.xmax > now.xmax ||
      start.xmin < BigInt(String(head[2] ?? 0));
    if (lost) return null;
    const target = part?.target ?? now;
    // Without any change one row stands for the position.
    const logged = rows.filter(([, , , seq]) => seq !== null);
    const shown = logged.slice(0, most);
    const changes = shown.flatMap((row) => this.#changes(row));
    const [, , , , , , , , , , available] = shown[0] ?? [];
    if (shown.length === Number(available ?? 0)) return { changes, to: target };
    const unfinished: UnfinishedStep = {
      changes,
      to: null,
      from: start,
      target,
      lastSeq: String(shown.at(-1)?.[3]),
      most: Math.min(2 * shown.length, maxChangesPerPart),
    };
    return unfinished;
  }

  async readAt(statement: Statement): Promise<QueryResult & { readonly position: Position }> {
    const { text, values } = statement;
    // The join gives the position a row also where the statement has none.
    const rows = await this.#query({
      text: `SELECT p.*, q.* FROM (SELECT ${ends}) AS p
        LEFT JOIN (SELECT true AS present, r.* FROM (${text}) AS r) AS q ON true`,
      values,
    });
    const [row = []] = rows;
    const isEmpty = rows.length === 1 && row[2] === null;
    return {
      rows: isEmpty ? [] : rows.map((row) => row.slice(3)),
      changed: 0,
      position: this.#position(row),
    };
  }

  parse(token: string): Position | null {
    const position = parsePosition(token);
    return position?.kind === "snapshot" && position.epoch === this.#epoch ? position : null;
  }

  onHint(look: () => void): () => void {
    return this.#options.hints.add(look);
  }

  async purge(): Promise<void> {
    // Between two parts those who write have their turn.
    for (let more = true; more;) more = await this.#forgetSome();
  }

  close(): Promise<void> {
    return this.#options.hints.close();
  }

  /**
   * What is visible now and was not then, in the order of the numbers, which were drawn while the
   * rows were locked. Of two changes of one row whoever sees the later one sees the earlier one,
   * too; so neither a number that was drawn early nor a transaction that began early can be missed
   * or come in the wrong order.
   */
  async #rowsAfter(
    start: SnapshotPosition,
    most: number,
    part: UnfinishedStep | null,
  ): Promise<readonly (readonly SqlValue[])[]> {
    const rest = part === null
      ? ""
      : ` AND seq > $4 AND pg_visible_in_snapshot(xid, $5::pg_snapshot)`;
    const values = [
      String(start.xmax),
      `{${start.running.join(",")}}`,
      most + 1,
      ...(part === null ? [] : [part.lastSeq, snapshotText(part.target)]),
    ];
    const statement = (images: string) => ({
      text: `SELECT p.*, c.seq, c.xid, c."table", c.op, ${images}, c.optimistic_id,
          c.available
        FROM (SELECT ${ends}, ${meta("floor")} AS floor) AS p LEFT JOIN (
          SELECT *, count(*) OVER () AS available,
            sum(${size("before")} + ${size("after")}) OVER (ORDER BY seq
              ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING) AS ahead
          FROM (
            SELECT * FROM "_service_changes"
            WHERE (xid >= $1::xid8 OR xid = ANY ($2::xid8[]))${rest}
            ORDER BY seq LIMIT $3::bigint
          ) AS next
        ) AS c ON coalesce(c.ahead, 0) < ${maxBytesPerPart} ORDER BY c.seq`,
      values,
    });
    const composed = this.#options.tables.filter(({ composed }) => composed.length > 0);
    if (composed.length > 0) {
      try {
        const images = `${composedImage("before", composed)}, ${composedImage("after", composed)}`;
        return await this.#query(statement(images));
      } catch (error) {
        // An old image may hold what its type no longer takes: then it is shown as it is.
        if (!(error instanceof DatabaseError) || !refusals.has(error.kind)) throw error;
      }
    }
    return await this.#query(statement("c.before, c.after"));
  }

  #query(statement: Statement): Promise<QueryResult["rows"]> {
    return queryWithinEpoch(statement, this.#options.driver, this.#options.random);
  }

  /**
   * Nothing goes that an open transaction could still be younger than, so that whoever follows the
   * log keeps its place however long a transaction lasts. Gives whether there may be more.
   */
  #forgetSome(): Promise<boolean> {
    const { retentionMs, maxRows } = this.#options.changes;
    return this.#options.driver.transaction(async (connection) => {
      const { rows } = await connection.query({
        text: `SELECT value FROM "_service_meta" WHERE name = 'floor' FOR UPDATE SKIP LOCKED`,
        values: [],
      });
      // Another process is at it.
      if (rows.length === 0) return false;
      const gone = await connection.query({
        text: `WITH old AS (
            SELECT seq FROM "_service_changes"
            WHERE xid < pg_snapshot_xmin(pg_current_snapshot()) AND (
              at < clock_timestamp() - $1 * interval '1 millisecond'
              OR (at < clock_timestamp() - $2 * interval '1 millisecond'
                AND seq <= (SELECT max(seq) FROM "_service_changes") - $3::bigint))
            ORDER BY seq LIMIT ${maxPerPurge}
          ), gone AS (
            DELETE FROM "_service_changes" c USING old WHERE c.seq = old.seq RETURNING c.xid
          )
          SELECT count(*), max(xid::text::numeric) + 1 FROM gone`,
        values: [retentionMs, minRetentionMs, maxRows],
      });
      const [count = null, floor = null] = gone.rows[0] ?? [];
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

  #position([snapshot, epoch]: readonly SqlValue[]): SnapshotPosition {
    this.#epoch = String(epoch);
    return snapshotPosition(String(snapshot), this.#epoch);
  }

  /** None for a table that another process records; several where it was declared twice. */
  #changes(row: readonly SqlValue[]): Change[] {
    const [, , , seq, xid, name, op, before, after, optimisticId] = row;
    return (this.#byName.get(String(name)) ?? []).map(({ table }) =>
      new LoggedChange({
        seq: Number(seq),
        transaction: BigInt(String(xid)),
        table,
        kind: changeKind(String(op)),
        before: textOrNull(before),
        after: textOrNull(after),
        optimisticId: textOrNull(optimisticId),
      }, this.#read)
    );
  }
}

const size = (image: "before" | "after") => `coalesce(octet_length(${image}::text), 0)`;

const refusals: ReadonlySet<string> = new Set([
  "invalid-value",
  "forbidden",
  "other",
  "check",
  "not-null",
]);

/**
 * An image with its arrays and composites once more, as the texts by which lists show them; the
 * reader takes the last of two members.
 */
function composedImage(image: "before" | "after", tables: readonly PostgresLogTable[]): string {
  const cases = tables.map(({ name, composed }) => {
    const texts = composed.map(({ name }) =>
      `${postgresLiteral(name)}, r.${quoteIdentifier(name)}::text`
    );
    const types = composed.map(({ name, type }) => `${quoteIdentifier(name)} ${type}`);
    return `WHEN ${postgresLiteral(name)} THEN left(c.${image}::text, -1) || ',' || substr((
      SELECT json_build_object(${texts.join(", ")})::text
      FROM json_to_record(c.${image}) AS r(${types.join(", ")})), 2)`;
  });
  return `CASE c."table" ${cases.join(" ")} ELSE c.${image}::text END`;
}

function isUnfinished(from: Position | Step): from is UnfinishedStep {
  return "changes" in from && from.to === null;
}

function textOrNull(value: SqlValue | undefined): string | null {
  return typeof value === "string" ? value : null;
}
