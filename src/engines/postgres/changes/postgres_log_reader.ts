import type { Random } from "../../../runtime/runtime.ts";
import type { SqlValue, Statement } from "../../../sql/fragment.ts";
import type { Connection, Driver, QueryResult, ReadLimits } from "../../../db/driver.ts";
import {
  type SnapshotPosition,
  snapshotPosition,
  snapshotText,
} from "../../../db/changes/log_position.ts";
import type { RowPolicyTables } from "./row_policy_tables.ts";
import { epochColumn, queryWithinEpoch } from "./set_up_postgres_log.ts";
import { namedColumns } from "../../../db/named_columns.ts";

export interface LogRange {
  readonly after: SnapshotPosition;
  readonly maxRows: number;
  /** If the previous read was incomplete: its last change and its target. Otherwise null. */
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
