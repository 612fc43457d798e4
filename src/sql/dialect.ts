import type { ColumnInfo, TableInfo } from "../schema/table_info.ts";
import type { ColumnKind } from "../schema/kind.ts";
import type { DefinitionDialect } from "./definition_dialect.ts";
import type { Fragment, SqlValue, Statement } from "./fragment.ts";
import type { JsonPathDialect } from "./json_path_dialect.ts";
import type { ListDialect } from "./list_dialect.ts";
import type { MetricDialect } from "./metric_dialect.ts";
import type { PreviewDialect } from "./preview_dialect.ts";
import type { SqlSyntax } from "./statements/normal_sql.ts";

/** The engine families. A {@link Dialect} value contains all other differences between engines. */
export type Engine = "sqlite" | "postgres";

/** A column added to a table. A SELECT of at most one row computes it from the table's columns. */
export interface AddedColumn {
  /** The quoted name of the column. */
  readonly name: Fragment;
  /** The SELECT. Its only column has the same name. */
  readonly select: Fragment;
}

/** The name of a `DatabaseEngine`. Importing its complete type here would be an import cycle. */
export interface EngineParts {
  /** The name for messages and traces. Never compared. */
  readonly name: string;
}

/** An engine's SQL dialect: all differences between engines except those of the drivers. */
export interface Dialect {
  /** The engine family. */
  readonly engine: Engine;
  /** The parts of the engine other than SQL. `engineOf` returns them with their complete type. */
  readonly parts: EngineParts;
  /** The OpenTelemetry name, for `db.system.name`. */
  readonly systemName: string;
  /** The maximum number of values that one statement binds. */
  readonly maxValues: number;
  /** True if a writing statement blocks the thread, and so all other requests of the process. */
  readonly blocksThread: boolean;
  /** True if the database rejects a value of another type than the column's. */
  readonly checksTypes: boolean;
  /** True if the driver itself rejects statements like BEGIN and COMMIT. */
  readonly refusesBoundaries: boolean;
  /** Returns the placeholder at a position, such as `?` or `$7`. */
  placeholder(position: number): string;

  /** The engine's SQL syntax, for functions that compare expressions and split scripts. */
  readonly syntax: SqlSyntax;
  /** The definitions of the tables that the service creates. */
  readonly definitions: DefinitionDialect;
  /** Returns the column's type for CREATE TABLE. */
  columnType(column: ColumnInfo): string;
  /** Throws `InvalidValue` for a value that its kind allows, but not this engine or column. */
  check(value: unknown, column: ColumnInfo): void;
  /**
   * Encodes an in-process value, as from {@link decode}, to write it to `column` or compare it.
   * Binds invalid stored values unchanged. Throws only for a value that no column can store.
   */
  encode(value: unknown, column: ColumnInfo): SqlValue;
  /** Decodes a cell, and never fails: reports an invalid stored value, and returns it unchanged. */
  decode(
    value: SqlValue,
    column: ColumnInfo,
    onInvalidValue: (column: ColumnInfo) => void,
  ): unknown;
  /**
   * Converts an expression's value to a number, a string or base64, identically on every engine.
   * `type` is the engine's type number, or null. Returns undefined if engines differ in the type.
   */
  decodeUntyped(value: SqlValue, type: number | null): unknown;
  /**
   * Returns true if {@link encode} restores the stored value from the decoded one. Returns false
   * for a timestamp in another format than the column's, and for the JSON document `null`.
   */
  roundTrips(stored: SqlValue, decoded: unknown, column: ColumnInfo): boolean;
  /** Returns true if the column may contain `value` in another form than a write would store. */
  hasOtherForms(value: unknown, column: ColumnInfo): boolean;
  /** Returns the column's expression in a select list, with full precision. */
  selected(column: ColumnInfo): Fragment;
  /** Returns the column's expression for equality, without collations. `row` is the row's alias. */
  operand(column: ColumnInfo, row?: Fragment): Fragment;
  /** Returns the column as a string for text operators: {@link operand} for a text column. */
  textOperand(column: ColumnInfo): Fragment;
  /**
   * Returns the column in the form that its index contains, or null if that form is {@link
   * operand}. Equal operands are equal in this form too, but the reverse can be false. A comparison
   * therefore uses both: this form to use the index, and the operand to exclude other values.
   */
  indexed(column: ColumnInfo): Fragment | null;
  /** Returns a table with further columns, for FROM. A column is NULL if its SELECT has no row. */
  withAddedColumns(table: TableInfo, added: readonly AddedColumn[]): Fragment;
  /** Returns the column for ranges and ORDER BY. The service's tables order text by code point. */
  ordered(column: ColumnInfo): Fragment;
  /**
   * Returns the last columns of an ORDER BY, after the `ordered` columns. With them, rows sort as
   * equal only if their values in `columns` are identical, whatever the kinds and collations.
   */
  distinguished(
    columns: readonly ColumnInfo[],
    ordered: ReadonlySet<ColumnInfo>,
  ): readonly Fragment[];
  /** Returns a value, bound for a comparison with {@link operand} or {@link ordered}. */
  bound(value: unknown, column: ColumnInfo): Fragment;
  /** Returns a stored value, bound exactly as the driver read it, even if it is invalid. */
  boundStored(value: SqlValue, column: ColumnInfo): Fragment;

  /**
   * Returns a table expression with a row for each key: the key's ordinal, counted from 0, and its
   * stored values. All keys are bound as one parameter. Each value can be compared with the {@link
   * operand} of the column at the same position in `others`.
   */
  listed(
    keys: readonly (readonly SqlValue[])[],
    columns: readonly ColumnInfo[],
    others: readonly ColumnInfo[],
    names: ListNames,
  ): Fragment;
  /**
   * Selects the first rows for each key of a list, with one index search per key. The rows of one
   * key are adjacent and sorted. A row has the columns, then the position of its key in the list.
   * The keys must not contain NULL.
   */
  firstOfEach(rows: RowsOfKeys): Fragment;
  /** The dialect for reads by key. It hides the values, on which the plan does not depend. */
  readonly withoutEstimates?: Dialect;
  /** True if the planner can evaluate an EXISTS once for all rows, when that is cheaper. */
  readonly plansSemiJoins: boolean;
  /** Marks a comparison as matching few rows, so that the planner uses an index on its column. */
  selective(comparison: Fragment): Fragment;
  /** True if a comparison of several columns, `(a, b) > (1, 2)`, can use an index on them. */
  readonly comparesRows: boolean;
  /**
   * SQL that lists the indexes that comparisons with {@link operand} can use: the schema (null for
   * the default schema), the table and the first column. Primary keys can be missing.
   */
  readonly leadingColumns: string;

  /** Returns which comparisons with the column have equal results in memory and the database. */
  comparesAsMemory(column: ColumnInfo): ComparesAsMemory;
  /** The operators for which tests have proved that memory and engine return the same result. */
  readonly certified: CertifiedOperators;

  /**
   * Returns a condition that is always true, but makes the statement fail after its time limit. The
   * time is checked only for some rows. In a join, `column` names the table of these rows. An
   * integer key, `integer`, makes the check cheaper. Null if the engine can interrupt statements.
   */
  readonly scanCheck: ((column?: Fragment, integer?: Fragment) => Fragment) | null;
  /** Returns a clause that runs the check for each row of a group. Null if no clause is needed. */
  readonly groupCheck: ((check: Fragment) => Fragment) | null;
  /** Returns a RETURNING item that fails as `outside-scope` if the condition is false, or null. */
  readonly requireRow: ((condition: Fragment) => Fragment) | null;
  /** The clause after a SELECT that locks its rows until the transaction ends. */
  readonly rowLock: Fragment;
  /** Returns the statement that raises a key's counter to the largest key. Null if unnecessary. */
  readonly advanceCounter: ((column: ColumnInfo, table: TableInfo) => Statement) | null;
  /** The smallest difference between two update timestamps, in microseconds. */
  readonly timestampStepMicros: number;
  /** SQL for the current time, in the format of the service's timestamp columns. */
  readonly currentTimestampSql: string;
  /** Returns SQL that sets the column to its database default in an UPDATE. */
  columnDefault(column: ColumnInfo): Fragment;

  /** The planner's estimate of the number of rows, or null if the engine has none. */
  readonly estimate: RowEstimate | null;
  /** The SQL for conditions on row images: values of rows that need not be in the table. */
  readonly images: ImageDialect;

  /** The SQL for the text operators, whose results are equal on every engine. */
  readonly text: TextDialect;
  /** The SQL for values within JSON documents. */
  readonly jsonPaths: JsonPathDialect;
  /** The SQL for the items of list columns. */
  readonly lists: ListDialect;
  /** The SQL for metrics over groups of rows. */
  readonly metrics: MetricDialect;
  /** The SQL for truncating long values. */
  readonly preview: PreviewDialect;
}

/** The part of a dialect that estimates the number of a select's rows without running it. */
export interface RowEstimate {
  /** Returns the statement that estimates `select`. Its result has one cell, for {@link parse}. */
  statement(select: Fragment): Fragment;
  /** Returns the estimate, or null if the cell contains none. */
  parse(cell: SqlValue): number | null;
}

/** The names of the columns of a list of keys. No table in the statement uses these names. */
export interface ListNames {
  /** The name of the list in the statement. */
  readonly list: Fragment;
  /** The name of the column with the ordinal of each key. */
  readonly ordinal: Fragment;
  /** The names of the columns with the values of each key. */
  readonly values: readonly Fragment[];
  /** The name of the column that numbers the rows of each key. */
  readonly rank: Fragment;
}

/** The input of a statement that reads rows by a list of keys. */
export interface RowsOfKeys {
  /** The names in the list of keys. */
  readonly names: ListNames;
  /** The table expression that {@link Dialect.listed} returns for the keys. */
  readonly keys: Fragment;
  /** The table of the rows. */
  readonly table: Fragment;
  /** The primary key of the table. */
  readonly primaryKey: readonly ColumnInfo[];
  /** The columns to read. */
  readonly columns: readonly ColumnInfo[];
  /** The columns by which `order` sorts. */
  readonly sorted: readonly ColumnInfo[];
  /** The condition by which a row belongs to a key of the list. */
  readonly where: Fragment;
  /** The SQL of the order, which ends in the primary key. */
  readonly order: Fragment;
  /** Returns the order for a subquery in which the columns have these names. */
  orderUnder(names: ReadonlyMap<ColumnInfo, string>): Fragment;
  /** The maximum number of rows of each key. */
  readonly limit: number;
  /** The maximum number of rows of all keys together. */
  readonly maxRows: number;
}

/** The operators that are certified for each class of column, separated by spaces. */
export type CertifiedOperators = Readonly<Record<CellClass, string>>;

/** The classes of columns with certified operators: kinds, and decimals too long for doubles. */
export type CellClass = ColumnKind | "long decimal";

/** The comparisons with a column that have equal results in memory and in the database. */
export type ComparesAsMemory =
  /** All comparisons have the same result in memory and in the database. */
  | "wholly"
  /** All comparisons except ranges, which depend on the column's collation. */
  | "but for order"
  /** No comparison is certain to have the same result. */
  | "never";

/** The part of a dialect for conditions on row images. The rows need not be in the table. */
export interface ImageDialect {
  /** The maximum number of rows in one statement. */
  readonly maxRows: number;
  /** Returns the batch key of a row. One statement contains only rows with the same batch key. */
  batchKey(row: readonly SqlValue[], columns: readonly ColumnInfo[]): string;
  /** Returns the row images as a FROM item, which a condition can use like the table itself. */
  from(images: RowImages): Fragment;
}

/** Row images for a FROM item: rows of a table as values. */
export interface RowImages {
  /** The table, which need not contain the rows now. */
  readonly table: TableInfo;
  /** The SQL of the table after FROM. */
  readonly from: Fragment;
  /** The columns for which `rows` contains values. */
  readonly columns: readonly ColumnInfo[];
  /** Stored values in the order of `columns`. */
  readonly rows: readonly (readonly SqlValue[])[];
  /** The name of an additional column that numbers rows from 1. No column's name begins with it. */
  readonly ordinal: string;
}

/**
 * The text operators. `operand` is SQL for a string, `argument` the string in the filter. "Folded"
 * operators ignore case: Unicode simple lower case per code point, with ς as σ (see `fold`).
 */
export interface TextDialect {
  /** Returns SQL that is true if the string contains the argument. */
  contains(operand: Fragment, argument: string): Fragment;
  /** Returns SQL that is true if the string begins with the argument. */
  startsWith(operand: Fragment, argument: string): Fragment;
  /** Returns SQL that is true if the string ends with the argument. */
  endsWith(operand: Fragment, argument: string): Fragment;
  /** Returns SQL that is true if the string matches. `pattern` uses `%`, `_` and the escape `\`. */
  like(operand: Fragment, pattern: string): Fragment;
  /** Returns SQL that is true if the string and the argument are equal after case folding. */
  equalsFolded(operand: Fragment, argument: string): Fragment;
  /** Like `contains`, but ignores case. */
  containsFolded(operand: Fragment, argument: string): Fragment;
  /** Like `startsWith`, but ignores case. */
  startsWithFolded(operand: Fragment, argument: string): Fragment;
  /** Like `endsWith`, but ignores case. */
  endsWithFolded(operand: Fragment, argument: string): Fragment;
  /** Like `like`, but ignores case. */
  likeFolded(operand: Fragment, pattern: string): Fragment;
  /** Returns SQL for the number of code points in the string. */
  length(operand: Fragment): Fragment;
}
