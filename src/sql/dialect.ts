import type { ColumnInfo, TableInfo } from "../schema/table_info.ts";
import type { ColumnKind } from "../schema/kind.ts";
import type { DefinitionDialect } from "./definition_dialect.ts";
import type { ExplainDialect } from "./explain_dialect.ts";
import type { Fragment, SqlValue, Statement } from "./fragment.ts";
import type { JsonPathDialect } from "./json_path_dialect.ts";
import type { ListDialect } from "./list_dialect.ts";
import type { MetricDialect } from "./metric_dialect.ts";
import type { PreviewDialect } from "./preview_dialect.ts";
import type { SqlSyntax } from "./statements/sql_syntax.ts";

/** The engine families of dialects; all other differences are in a {@link Dialect} value. */
export type Engine = "sqlite" | "postgres";

/** The parts of an engine outside of SQL, as far as a dialect knows them. */
export interface EngineParts {
  /** For messages and traces. Never compared. */
  readonly name: string;
}

/**
 * The interface of an engine's SQL dialect, with all that differs between the engines outside a
 * driver: one value, made at connect from a probe.
 */
export interface Dialect {
  /** The family. */
  readonly engine: Engine;
  /** The parts of the engine outside of SQL; `engineOf` returns them with their types. */
  readonly parts: EngineParts;
  /** As OpenTelemetry names it, in `db.system.name`. */
  readonly systemName: string;
  /** The most values one statement may bind. */
  readonly maxValues: number;
  /** True if a statement that writes keeps all other requests of the process waiting. */
  readonly blocksThread: boolean;
  /** True if the driver itself refuses a statement that begins or ends a transaction. */
  readonly refusesBoundaries: boolean;
  /** `?` or `$7`. */
  placeholder(position: number): string;

  /** How expressions are compared, and scripts split. */
  readonly syntax: SqlSyntax;
  /** The definitions of the tables that we create. */
  readonly definitions: DefinitionDialect;
  /** The column type of a table that we create. */
  columnType(column: ColumnInfo): string;
  /**
   * Throws `InvalidValue` for a value that its kind allows and this engine or column cannot hold:
   * called once for each value of a body, so that the problem can name the field.
   */
  check(value: unknown, column: ColumnInfo): void;
  /**
   * In-process value → the value to bind for writing it into `column` or comparing it with it. A
   * value that {@link decode} gave as a onInvalidValue is bound as it is; only what no column can hold
   * throws.
   */
  encode(value: unknown, column: ColumnInfo): SqlValue;
  /**
   * A value from the driver → in-process value. A stored value that does not fit its kind is given
   * as it is, and `onInvalidValue` is called: reading never fails.
   */
  decode(
    value: SqlValue,
    column: ColumnInfo,
    onInvalidValue: (column: ColumnInfo) => void,
  ): unknown;
  /**
   * A value from the driver that belongs to no column → a number, a string or base64, the same on
   * every engine. `type` is the engine's number of its type, null if it has none. Undefined if
   * the engines have different forms.
   */
  decodeUntyped(value: SqlValue, type: number | null): unknown;
  /**
   * Returns true if {@link encode} gives the stored value back: not for a moment in another format than
   * that of its column, nor for the JSON null.
   */
  roundTrips(stored: SqlValue, decoded: unknown, column: ColumnInfo): boolean;
  /**
   * Returns true if a row that shows this value of a body may hold something else than a write of it would
   * store: a onInvalidValue, or the value in another form.
   */
  hasOtherForms(value: unknown, column: ColumnInfo): boolean;
  /** The column in a select list, with full precision kept. */
  selected(column: ColumnInfo): Fragment;
  /**
   * The column in a comparison for equality, which is exact whatever the column's collation. `row`
   * is the name of its row, where the column's own name is not enough.
   */
  operand(column: ColumnInfo, row?: Fragment): Fragment;
  /** The column's text, which text operators search; {@link operand} where it is a string already. */
  textOperand(column: ColumnInfo): Fragment;
  /**
   * The column as its index has it, where {@link operand} differs: it is equal wherever the operand
   * is, and in more cases. A comparison has both, one for the index and one to be exact.
   */
  indexed(column: ColumnInfo): Fragment | null;
  /** The column in ranges and in ORDER BY: code-point order on our own tables. */
  ordered(column: ColumnInfo): Fragment;
  /**
   * What follows the `ordered` columns in ORDER BY, so that only rows are equal that cannot be
   * distinguished by any of `columns`, whatever their kinds and collations are.
   */
  distinguished(
    columns: readonly ColumnInfo[],
    ordered: ReadonlySet<ColumnInfo>,
  ): readonly Fragment[];
  /** A bound value beside {@link operand} or {@link ordered}, cast where the engine would guess. */
  bound(value: unknown, column: ColumnInfo): Fragment;
  /** The same for a stored value as the driver read it: exact, also where it does not fit its kind. */
  boundStored(value: SqlValue, column: ColumnInfo): Fragment;

  /**
   * Keys of stored values of these columns as a table, bound as one value: their ordinals, counted
   * from 0, and the values, each of which can be compared with the {@link operand} of the column at
   * its place in `others`.
   */
  listed(
    keys: readonly (readonly SqlValue[])[],
    columns: readonly ColumnInfo[],
    others: readonly ColumnInfo[],
    names: ListNames,
  ): Fragment;
  /**
   * The first rows of each of the {@link listed} keys, sought key by key; those of one key together
   * and in order: the columns, then the ordinal of the key. No primary key is NULL.
   */
  firstOfEach(rows: RowsOfKeys): Fragment;
  /** True if the planner itself evaluates an EXISTS once for all rows, where that costs less. */
  readonly plansSemiJoins: boolean;
  /**
   * A comparison that is taken to pass few rows, so that an index on its column is used whatever the
   * statistics say of other values.
   */
  selective(comparison: Fragment): Fragment;
  /** True if an index over several columns is sought by one comparison of rows, `(a, b) > (1, 2)`. */
  readonly comparesRows: boolean;
  /**
   * SQL that gives the first columns of the indexes that serve {@link operand}: schema (null for the
   * default one), table, column. Primary keys may be missing.
   */
  readonly leadingColumns: string;

  /**
   * Which comparisons in memory have the results of the column. For columns of our own tables all
   * have; there {@link certified} limits the operators.
   */
  comparesAsMemory(column: ColumnInfo): ComparesAsMemory;
  /** The operators whose results in memory were proved to be those of the engine. */
  readonly certified: CertifiedOperators;

  /**
   * A condition that holds for every row, and by which a driver ends a statement that has looked at
   * too many. `column` is one of the rows to check, where the statement joins others; `integer` one
   * whose values differ from row to row. Null if the engine ends statements by itself.
   */
  readonly scanCheck: ((column?: Fragment, integer?: Fragment) => Fragment) | null;
  /** What follows GROUP BY: the same check of rows while they are added up. */
  readonly groupCheck: ((check: Fragment) => Fragment) | null;
  /** After a SELECT: locks its rows until the transaction ends. */
  readonly rowLock: Fragment;
  /**
   * The statement that sets the counter of a key after its largest value; null if the counter looks
   * at the values by itself.
   */
  readonly advanceCounter: ((column: ColumnInfo, table: TableInfo) => Statement) | null;
  /** The smallest step between two moments of update, in microseconds. */
  readonly timestampStepMicros: number;
  /** An expression for now, as a timestamp column of our own tables has it. */
  readonly currentMoment: string;
  /** In an UPDATE: the default that the database keeps for the column. */
  columnDefault(column: ColumnInfo): Fragment;

  /** The planner's estimate of the number of rows; null if the engine does not give it. */
  readonly estimate: RowEstimate | null;
  /** Conditions over rows that are not in their table: no longer, or not yet. */
  readonly images: ImageDialect;

  /** The SQL of the text operators: one meaning on every engine. */
  readonly text: TextDialect;
  /** Values within JSON documents. */
  readonly jsonPaths: JsonPathDialect;
  /** The items of lists. */
  readonly lists: ListDialect;
  /** The SQL of metrics over groups of rows. */
  readonly metrics: MetricDialect;
  /** The beginnings of long values. */
  readonly preview: PreviewDialect;
  /** What the database would do for a statement. */
  readonly explain: ExplainDialect;
}

/**
 * The part of a dialect for the planner's estimate of how many rows a select gives, without running
 * it.
 */
export interface RowEstimate {
  /** A select → the statement whose only cell {@link parse} takes. */
  statement(select: Fragment): Fragment;
  /** The estimate; null for any other string. */
  parse(cell: SqlValue): number | null;
}

/**
 * Names that a dialect gives to a list of keys and to its columns: no table of the statement has
 * such a column.
 */
export interface ListNames {
  /** The list. */
  readonly list: Fragment;
  /** The ordinal of a key. */
  readonly ordinal: Fragment;
  /** The values of a key. */
  readonly values: readonly Fragment[];
  /** The number of a row among those of its key. */
  readonly rank: Fragment;
}

/** What a dialect needs for the statement that reads rows by a list of keys. */
export interface RowsOfKeys {
  /** The names that the other parts use. */
  readonly names: ListNames;
  /** The keys, by {@link Dialect.listed}. */
  readonly keys: Fragment;
  /** The table of the rows. */
  readonly table: Fragment;
  /** The primary key of the table. */
  readonly primaryKey: readonly ColumnInfo[];
  /** The columns to read. */
  readonly columns: readonly ColumnInfo[];
  /** The columns of the order. */
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

/**
 * The operators that a dialect has certified: symbols with a space between them, for each class of
 * column.
 */
export type CertifiedOperators = Readonly<Record<CellClass, string>>;

/**
 * The classes of column that a dialect certifies operators for: kinds, and decimals with more
 * digits than a double keeps.
 */
export type CellClass = ColumnKind | "long decimal";

/** Says of a column in a dialect which comparisons in memory have its results. */
export type ComparesAsMemory =
  /** All. */
  | "wholly"
  /** All but ranges, which depend on the collation of the column. */
  | "but for order"
  /** None. */
  | "never";

/** The part of a dialect for conditions on row images, which are not in their table. */
export interface ImageDialect {
  /** The most rows for one statement. */
  readonly maxRows: number;
  /** Rows of one statement must have the same key. */
  batchKey(row: readonly SqlValue[], columns: readonly ColumnInfo[]): string;
  /**
   * What follows FROM: for a condition it is like the table, with its name and with the types and
   * the collations of its columns.
   */
  from(images: RowImages): Fragment;
}

/** Row images that a dialect puts after FROM: rows of a table as values. */
export interface RowImages {
  /** Their table, which need not hold them now. */
  readonly table: TableInfo;
  /** The table as it is written after FROM. */
  readonly from: Fragment;
  /** The columns that are known of each row. */
  readonly columns: readonly ColumnInfo[];
  /** Stored values in the order of `columns`. */
  readonly rows: readonly (readonly SqlValue[])[];
  /** The name of an additional column that numbers the rows from 1; no other name begins with it. */
  readonly ordinal: string;
}

/**
 * The part of a dialect for the text operators. `operand` is SQL of a string; `argument` is the
 * literal text of the filter. `fold` is the project's case folding (Unicode simple lower case per
 * code point, ς as σ, and no non-ASCII code point folds to ASCII).
 */
export interface TextDialect {
  /** The text contains the argument. */
  contains(operand: Fragment, argument: string): Fragment;
  /** The text begins with the argument. */
  startsWith(operand: Fragment, argument: string): Fragment;
  /** The text ends with the argument. */
  endsWith(operand: Fragment, argument: string): Fragment;
  /** `pattern` uses `%`, `_` and the escape `\`. */
  like(operand: Fragment, pattern: string): Fragment;
  /** Both are equal when folded. The next four fold both, too. */
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
