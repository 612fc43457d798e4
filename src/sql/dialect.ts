import type { ColumnInfo, ColumnKind, TableInfo } from "../schema/table_info.ts";
import type { Fragment, SqlValue } from "./fragment.ts";

/** The engine families; whatever else differs stands in a {@link Dialect} value. */
export type Engine = "sqlite" | "postgres";

/**
 * All that differs between the engines outside a driver: one value, made at connect from a probe.
 */
export interface Dialect {
  /** Which family this is. */
  readonly engine: Engine;
  /** The most values one statement may bind. */
  readonly maxValues: number;
  /** `?` or `$7`. */
  placeholder(position: number): string;

  /** The column type of a table that we create. */
  columnType(column: ColumnInfo): string;
  /**
   * Refuses a value that its kind allows and this engine or column cannot hold, by `InvalidValue`:
   * asked once for each value of a body, so that the answer can name the field.
   */
  check(value: unknown, column: ColumnInfo): void;
  /**
   * In-process value → what is bound for writing it into `column` or comparing it with it. A value
   * that came out of {@link decode} as a misfit goes back as it is; only what is no value of a
   * column at all throws.
   */
  encode(value: unknown, column: ColumnInfo): SqlValue;
  /**
   * What the driver read → in-process value. A stored value that does not fit its kind comes out
   * as it is, and `misfit` is called: reading never fails.
   */
  decode(value: SqlValue, column: ColumnInfo, misfit: (column: ColumnInfo) => void): unknown;
  /**
   * Whether {@link encode} gives the stored value back: not for a moment in another format than
   * its column's, nor for the JSON null.
   */
  roundTrips(stored: SqlValue, decoded: unknown, column: ColumnInfo): boolean;
  /** The column in a select list, with full precision kept. */
  selected(column: ColumnInfo): Fragment;
  /**
   * The column in a comparison for equality, which is exact whatever the column's collation. `row`
   * is the name of its row, where the column's own name is not enough.
   */
  operand(column: ColumnInfo, row?: Fragment): Fragment;
  /**
   * The column as its index has it, where {@link operand} is not that: it equals whatever the
   * operand equals, and more. A comparison says both, one to be found by and one to be exact.
   */
  indexed(column: ColumnInfo): Fragment | null;
  /** The column in ranges and in ORDER BY: code-point order on our own tables. */
  ordered(column: ColumnInfo): Fragment;
  /** A bound value beside {@link operand} or {@link ordered}, cast where the engine would guess. */
  bound(value: unknown, column: ColumnInfo): Fragment;
  /** The same for a stored value as the driver read it: exact, also where it does not fit its kind. */
  boundStored(value: SqlValue, column: ColumnInfo): Fragment;

  /**
   * Stored values of a column as a table, bound as one value: their places, counted from 0, and
   * the values, each of which can stand beside {@link operand}.
   */
  listed(values: readonly SqlValue[], column: ColumnInfo, names: ListNames): Fragment;
  /**
   * The first rows of each of the {@link listed} keys, sought one by one; those of one key together
   * and in order: the columns, then the place of the key. No primary key is NULL.
   */
  firstOfEach(rows: RowsOfKeys): Fragment;
  /**
   * SQL that asks which columns the indexes begin with by which {@link operand} is found: schema
   * (null for the default one), table, column. Primary keys may be missing.
   */
  readonly leadingColumns: string;

  /**
   * How far comparisons in memory are those of the column. For columns of our own tables this is
   * never the question: there {@link certified} tells the operators apart.
   */
  comparesAsMemory(column: ColumnInfo): ComparesAsMemory;
  /** The operators with which memory was proved to give the engine's answers. */
  readonly certified: CertifiedOperators;

  /** Behind a SELECT: keeps its rows as they are until the transaction ends. */
  readonly rowLock: Fragment;
  /** The smallest step between two moments of update, in microseconds. */
  readonly timestampStepMicros: number;
  /** In an UPDATE: the default that the database keeps for the column. */
  columnDefault(column: ColumnInfo): Fragment;

  /** How the planner guesses the number of rows; null where it does not tell. */
  readonly estimate: RowEstimate | null;
  /** Conditions over rows that are not in their table: any more, or not yet. */
  readonly images: ImageDialect;

  /** The SQL of the text operators: one meaning on every engine. */
  readonly text: TextDialect;
  /** The SQL of what is computed over groups of rows. */
  readonly metrics: MetricDialect;
}

/**
 * What is computed over a group of rows, NULLs left out. The sum of integers, and sum and average
 * of decimals are *exact*: no digit is lost, however many there are, and the engine may keep them
 * in a form of its own that compares and sorts as the numbers do.
 */
export interface MetricDialect {
  /** The least or the greatest value; text as {@link Dialect.ordered} has it. */
  extreme(name: "min" | "max", column: ColumnInfo): Fragment;
  /** The sum: exact but for reals. */
  sum(column: ColumnInfo): Fragment;
  /**
   * The average: of decimals exact, rounded half away from zero to `digits` after the point; of
   * integers the double next to the sum, divided by the count; of reals as the engine has it.
   */
  average(column: ColumnInfo, digits: number): Fragment;
  /** A plain decimal, bound beside an exact metric. */
  boundExact(plain: string): Fragment;
  /**
   * What the driver read of an exact metric → a plain decimal, or null where it is none, as
   * Postgres' NaN. `misfit` is called where a value of the group was no number and left out.
   */
  decodeExact(value: Exclude<SqlValue, null>, misfit: () => void): string | null;
}

/** The planner's guess at how many rows a select gives, without running it. */
export interface RowEstimate {
  /** A select → the statement whose only cell {@link parse} understands. */
  statement(select: Fragment): Fragment;
  /** The guess; null for what is none. */
  parse(cell: SqlValue): number | null;
}

/** What a list of values and its columns are called: like no column of the tables beside it. */
export interface ListNames {
  /** The list. */
  readonly list: Fragment;
  /** The place of a value. */
  readonly ordinal: Fragment;
  /** The value. */
  readonly value: Fragment;
  /** The number of a row among those of its value. */
  readonly rank: Fragment;
}

/** Rows to read by a list of keys. */
export interface RowsOfKeys {
  /** Those that the other parts use. */
  readonly names: ListNames;
  /** The keys, by {@link Dialect.listed}. */
  readonly keys: Fragment;
  /** Where the rows stand. */
  readonly table: Fragment;
  /** The table's. */
  readonly primaryKey: readonly ColumnInfo[];
  /** What is read of each. */
  readonly columns: readonly ColumnInfo[];
  /** Those of the order. */
  readonly sorted: readonly ColumnInfo[];
  /** Which rows belong to the value of a key. */
  readonly where: Fragment;
  /** Ends in the primary key. */
  readonly order: Fragment;
  /** The same order over rows whose columns have these names instead. */
  orderUnder(names: ReadonlyMap<ColumnInfo, string>): Fragment;
  /** The most rows of each key. */
  readonly limit: number;
  /** The most rows of all keys together. */
  readonly maxRows: number;
}

/** Symbols of operators with a space between them, for each class of column. */
export type CertifiedOperators = Readonly<Record<CellClass, string>>;

/** What operators are certified for: kinds, and decimals with more digits than a double keeps. */
export type CellClass = ColumnKind | "long decimal";

/** How far comparisons in memory are those of a column. */
export type ComparesAsMemory =
  /** In every way. */
  | "wholly"
  /** In all ways but ranges, which follow a collation of its own. */
  | "but for order"
  /** Not at all. */
  | "never";

/** How rows that are not in their table are asked about. */
export interface ImageDialect {
  /** The most rows for one statement. */
  readonly maxRows: number;
  /** A text that rows of one statement must share. */
  batchKey(row: readonly SqlValue[], columns: readonly ColumnInfo[]): string;
  /**
   * What stands behind FROM: to a condition it is the table itself, with its name and with the
   * types and the collations of its columns.
   */
  from(images: RowImages): Fragment;
}

/** Rows of a table as values. */
export interface RowImages {
  /** The table that they were, are or could be in. */
  readonly table: TableInfo;
  /** The table as it stands behind FROM. */
  readonly from: Fragment;
  /** What is known of each row. */
  readonly columns: readonly ColumnInfo[];
  /** Stored values in the order of `columns`. */
  readonly rows: readonly (readonly SqlValue[])[];
  /** What an additional column is called, which numbers the rows from 1; no name begins like it. */
  readonly ordinal: string;
}

/**
 * The text operators. `operand` is SQL of a text; `argument` is the literal text of the filter.
 * `fold` is the project's case folding (Unicode simple lower case per code point, ς as σ, and no
 * non-ASCII code point folds to ASCII).
 */
export interface TextDialect {
  /** The argument stands in the text. */
  contains(operand: Fragment, argument: string): Fragment;
  /** The text begins with the argument. */
  startsWith(operand: Fragment, argument: string): Fragment;
  /** The text ends with the argument. */
  endsWith(operand: Fragment, argument: string): Fragment;
  /** `pattern` uses `%`, `_` and the escape `\`. */
  like(operand: Fragment, pattern: string): Fragment;
  /** The same text once both are folded; so in the next four. */
  equalsFolded(operand: Fragment, argument: string): Fragment;
  /** `contains`, folded. */
  containsFolded(operand: Fragment, argument: string): Fragment;
  /** `startsWith`, folded. */
  startsWithFolded(operand: Fragment, argument: string): Fragment;
  /** `endsWith`, folded. */
  endsWithFolded(operand: Fragment, argument: string): Fragment;
  /** `like`, folded. */
  likeFolded(operand: Fragment, pattern: string): Fragment;
  /** The number of code points. */
  length(operand: Fragment): Fragment;
}
