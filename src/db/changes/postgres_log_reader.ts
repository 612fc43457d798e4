import type { Random } from "../../runtime/runtime.ts";
import { quoteIdentifier, type SqlValue, type Statement } from "../../sql/fragment.ts";
import { postgresLiteral } from "../../sql/postgres/change_log_schema.ts";
import { DatabaseError, type DatabaseErrorKind } from "../database_error.ts";
import type { Connection, Driver, QueryResult, ReadLimits } from "../driver.ts";
import { type NamedCells, type NamedColumns, namedColumns } from "../named_columns.ts";
import { type SnapshotPosition, snapshotPosition, snapshotText } from "./log_position.ts";
import { epochColumn, queryWithinEpoch } from "./postgres_epoch.ts";
import type { PostgresLogTable } from "./set_up_postgres_log.ts";

/** A page of changes that the reader of the Postgres log has read, and where they were read. */
export interface LogPage {
  /** Everything that the statement could see. */
  readonly position: SnapshotPosition;
  /** Changes of transactions below are forgotten. */
  readonly floor: bigint;
  readonly rows: readonly PostgresLogRow[];
  /** Whether there is nothing more after the rows. */
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

type LogColumn = keyof ReturnType<typeof columnsOfLog>;

/** A row as the reader of the Postgres log gets it, its cells as the driver read them. */
export type PostgresLogRow = NamedCells<LogColumn>;

/** With so many bytes of images a page is full: rows may be large, and memory is limited. */
const maxBytesPerPage = 16 * 1024 * 1024;

/** Runs the statements that read the change log of a Postgres. */
export class PostgresLogReader {
  readonly #driver: Driver;
  readonly #random: Random;
  /** How the images are selected, first choice first. */
  readonly #selects: readonly [NamedColumns<LogColumn>, ...NamedColumns<LogColumn>[]];

  constructor(driver: Driver, tables: readonly PostgresLogTable[], random: Random) {
    this.#driver = driver;
    this.#random = random;
    const plain = namedColumns(columnsOfLog((image) => `c.${image}`));
    const composed = tables.filter(({ composed }) => composed.length > 0);
    this.#selects = composed.length === 0
      ? [plain]
      : [namedColumns(columnsOfLog((image) => composedImage(image, composed))), plain];
  }

  /** Where the log ends now. */
  async end(): Promise<SnapshotPosition> {
    const [row = []] = await this.#query({ text: `SELECT ${logState}`, values: [] });
    return positionOf(row);
  }

  /** The rows of a statement, and where the log stood when it ran. */
  async readAt(
    { text, values }: Statement,
    limits?: ReadLimits,
  ): Promise<Pick<QueryResult, "rows"> & { readonly position: SnapshotPosition }> {
    const connection = limits === undefined ? this.#driver : this.#driver.reads(limits);
    // The join gives the position a row also where the statement has none.
    const rows = await this.#query({
      text: `SELECT p.*, q.* FROM (SELECT ${logState}) AS p
        LEFT JOIN (SELECT true AS present, r.* FROM (${text}) AS r) AS q ON true`,
      values,
    }, connection);
    const [first = []] = rows;
    return {
      rows: rows.flatMap(([_epoch, _snapshot, isPresent = null, ...cells]) =>
        isPresent === null ? [] : [cells]
      ),
      position: positionOf(first),
    };
  }

  /**
   * What is visible now and was not then, in the order of the numbers, which were drawn while the
   * rows were locked. Of two changes of one row a snapshot that sees the later one sees the earlier
   * one, too; so neither a number that was drawn early nor a transaction that began early can be
   * missed or come in the wrong order.
   */
  async changes(range: LogRange): Promise<LogPage> {
    const [preferred, plain] = this.#selects;
    if (plain === undefined) return await this.#page(range, preferred);
    try {
      return await this.#page(range, preferred);
    } catch (error) {
      // An old image may hold what its type no longer takes: then it is shown as it is.
      if (!(error instanceof DatabaseError) || !refusals.has(error.kind)) throw error;
      return await this.#page(range, plain);
    }
  }

  async #page(
    { after, maxRows, rest }: LogRange,
    columns: NamedColumns<LogColumn>,
  ): Promise<LogPage> {
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
        FROM (SELECT ${logState}, ${metaValue("floor")} AS floor) AS p LEFT JOIN (
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
      position: positionOf([head.epoch, head.snapshot]),
      floor: BigInt(head.floor === null ? 0 : String(head.floor)),
      rows,
      isComplete: rows.length === Number(head.available ?? 0),
    };
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

const logState = `${epochColumn}, pg_current_snapshot()::text AS snapshot`;

/** The position of a row that begins with {@link logState}. */
function positionOf([epoch, snapshot]: readonly SqlValue[]): SnapshotPosition {
  return snapshotPosition(String(snapshot), String(epoch));
}

/** The state of the log, and a change, whose columns are NULL where there is none. */
function columnsOfLog(imageSql: (image: "before" | "after") => string) {
  return {
    epoch: "p.epoch",
    snapshot: "p.snapshot",
    floor: "p.floor",
    available: "c.available",
    seq: "c.seq",
    xid: "c.xid",
    table: 'c."table"',
    op: "c.op",
    before: imageSql("before"),
    after: imageSql("after"),
    optimisticId: "c.optimistic_id",
  };
}

const size = (image: "before" | "after") => `coalesce(octet_length(${image}::text), 0)`;

/** How a server refuses to read an image as the columns that its table has now. */
const refusals: ReadonlySet<DatabaseErrorKind> = new Set<DatabaseErrorKind>([
  "invalid-value",
  "forbidden",
  "other",
  "check",
  "not-null",
]);

/**
 * An image with its arrays and composites once more, as the texts by which lists show them; of two
 * members with one name the last one is read.
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
