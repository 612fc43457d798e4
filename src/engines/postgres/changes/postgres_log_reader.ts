import type { Random } from "../../../runtime/runtime.ts";
import type { SqlValue, Statement } from "../../../sql/fragment.ts";
import type { Connection, Driver, QueryResult, ReadLimits } from "../../../db/driver.ts";
import { namedColumns } from "../../../db/named_columns.ts";
import {
  type SnapshotPosition,
  snapshotPosition,
  snapshotText,
} from "../../../db/changes/log_position.ts";
import { epochColumn, queryWithinEpoch } from "./postgres_epoch.ts";
import type { SecuredTables } from "./secured_tables.ts";

/** A page of changes that the reader of the Postgres log has read, and where they were read. */
export interface LogPage {
  /** Everything that the statement could see. */
  readonly position: SnapshotPosition;
  /** Changes of transactions below are forgotten. */
  readonly floor: bigint;
  readonly rows: readonly PostgresLogRow[];
  /** True if there is nothing more after the rows. */
  readonly isComplete: boolean;
}

/** The range of changes that the reader of the Postgres log reads. */
export interface LogRange {
  /** What it covers is left out. */
  readonly after: SnapshotPosition;
  readonly maxRows: number;
  /** Where the page before of the same step ended, and what that step covers. */
  readonly rest: { readonly afterSeq: string; readonly target: SnapshotPosition } | null;
}

/** A row as the reader of the Postgres log gets it, its cells as the driver read them. */
export type PostgresLogRow = ReturnType<typeof columns.decode>;

/** With so many bytes of images a page is full: rows may be large, and memory is limited. */
const maxBytesPerPage = 16 * 1024 * 1024;

/** Runs the statements that read the change log of a Postgres. */
export class PostgresLogReader {
  readonly #driver: Driver;
  readonly #random: Random;
  readonly #secured: SecuredTables;
  /** The columns that say where the log ends; {@link #positionOf} decodes them. */
  readonly #state: string;

  constructor(driver: Driver, random: Random, secured: SecuredTables) {
    this.#driver = driver;
    this.#random = random;
    this.#secured = secured;
    this.#state = `${epochColumn}, pg_current_snapshot()::text AS snapshot, ${secured.column}`;
  }

  /** Where the log ends now. */
  async end(): Promise<SnapshotPosition> {
    const [row = []] = await this.#query({ text: `SELECT ${this.#state}`, values: [] });
    return this.#positionOf(row);
  }

  /** The rows of a statement, and where the log stood when it ran. */
  async readAt(
    { text, values }: Statement,
    limits?: ReadLimits,
  ): Promise<Pick<QueryResult, "rows"> & { readonly position: SnapshotPosition }> {
    const connection = limits === undefined ? this.#driver : this.#driver.reads(limits);
    // The join gives the position a row also where the statement has none.
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
   * What is visible now and was not then, in the order of the numbers, which were drawn while the
   * rows were locked. Of two changes of one row a snapshot that sees the later one sees the earlier
   * one, too; so neither a number that was drawn early nor a transaction that began early can be
   * missed or come in the wrong order.
   */
  async changes({ after, maxRows, rest }: LogRange): Promise<LogPage> {
    const values = [
      String(after.xmax),
      `{${after.running.join(",")}}`,
      maxRows + 1,
      ...(rest === null ? [] : [rest.afterSeq, snapshotText(rest.target)]),
    ];
    // A generic plan would read the log in the order of its numbers, from the oldest one on.
    const [order, andRest] = rest === null
      ? ["seq + 0", ""]
      : ["seq", " AND seq > $4 AND pg_visible_in_snapshot(xid, $5::pg_snapshot)"];
    const cells = await this.#query({
      text: `SELECT ${columns.selectList}
        FROM (SELECT ${this.#state}, ${metaValue("floor")} AS floor) AS p
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
    // Without any change a single row stands for the position.
    const rows = found.filter(({ seq }) => seq !== null).slice(0, maxRows);
    return {
      position: this.#positionOf([head.epoch, head.snapshot, head.secured]),
      floor: BigInt(head.floor === null ? 0 : String(head.floor)),
      rows,
      isComplete: rows.length === Number(head.available ?? 0),
    };
  }

  /** Notes the tables with policies, too. */
  #positionOf([epoch, snapshot, secured]: readonly SqlValue[]): SnapshotPosition {
    this.#secured.note(String(secured));
    return snapshotPosition(String(snapshot), String(epoch));
  }

  #query(statement: Statement, connection?: Connection): Promise<QueryResult["rows"]> {
    return queryWithinEpoch(statement, this.#driver, this.#random, connection);
  }
}

/** A range with two ends is estimated at few rows, one with a single end at a third of the log. */
const lastXid = `'${2n ** 64n - 1n}'::xid8`;

/** A value of `_service_meta`, as an expression in statements that read the Postgres log. */
export function metaValue(name: "secret" | "floor"): string {
  return `(SELECT value FROM "_service_meta" WHERE name = '${name}')`;
}

/** The state of the log, and a change, whose columns are NULL where there is none. */
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
