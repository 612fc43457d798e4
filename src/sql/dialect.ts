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

/** The engine families of dialects. All other differences are in a {@link Dialect} value. */
export type Engine = "sqlite" | "postgres";

/** The members of an engine's description that the type of a dialect needs. */
export interface EngineParts {
  /** The name for messages and traces. Never compared. */
  readonly name: string;
}

/**
 * The interface of an engine's SQL dialect, with all differences between the engines outside of
 * drivers. A dialect is one value, which a driver creates when it connects.
 */
export interface Dialect {
  /** The engine family. */
  readonly engine: Engine;
  /** The description of the engine outside of SQL. `engineOf` returns it with its complete type. */
  readonly parts: EngineParts;
  /** The OpenTelemetry name, for `db.system.name`. */
  readonly systemName: string;
  /** The maximum number of values that one statement binds. */
  readonly maxValues: number;
  /** True if a statement that writes blocks all other requests of the process. */
  readonly blocksThread: boolean;
  /** True if a column stores only values of its type. */
  readonly checksTypes: boolean;
  /** True if the driver itself rejects a statement that begins or ends a transaction. */
  readonly refusesBoundaries: boolean;
  /** Returns `?` or `$7`. */
  placeholder(position: number): string;

  /** The syntax by which expressions are compared and scripts are split. */
  readonly syntax: SqlSyntax;
  /** The definitions of the tables that the service creates. */
  readonly definitions: DefinitionDialect;
  /** Returns the column type in a table that the service creates. */
  columnType(column: ColumnInfo): string;
  /**
   * Throws `InvalidValue` for a value that its kind allows and this engine or column cannot store.
   * The service calls this once for each value of a body, so the problem can name the field.
   */
  check(value: unknown, column: ColumnInfo): void;
  /**
   * Encodes an in-process value to bind it, for writing it into `column` or comparing it with
   * `column`. An invalid stored value that {@link decode} returned is bound unchanged. Throws only
   * for a value that no column can store.
   */
  encode(value: unknown, column: ColumnInfo): SqlValue;
  /**
   * Decodes a value from the driver. Reading never fails: a stored value that is invalid for its
   * column's kind is returned unchanged and reported to `onInvalidValue`.
   */
  decode(
    value: SqlValue,
    column: ColumnInfo,
    onInvalidValue: (column: ColumnInfo) => void,
  ): unknown;
  /**
   * Converts a value that belongs to no column to a number, a string or base64, identically on
   * every engine. `type` is the engine's number of the value's type, or null. Returns undefined if
   * the engines have different forms.
   */
  decodeUntyped(value: SqlValue, type: number | null): unknown;
  /**
   * Returns true if {@link encode} restores the stored value. Returns false for a timestamp in
   * another format than the column's, and for the JSON null.
   */
  roundTrips(stored: SqlValue, decoded: unknown, column: ColumnInfo): boolean;
  /**
   * Returns true if a stored value that decodes to `value` may differ from what a write of `value`
   * stores. The stored value may be invalid, or have another form.
   */
  hasOtherForms(value: unknown, column: ColumnInfo): boolean;
  /** Returns the column in a select list, with its full precision. */
  selected(column: ColumnInfo): Fragment;
  /**
   * Returns the column in a comparison for equality, which is exact in any collation. `row` is the
   * name of its row, if the column's own name is ambiguous.
   */
  operand(column: ColumnInfo, row?: Fragment): Fragment;
  /** Returns the column as a string for text operators. For strings, returns {@link operand}. */
  textOperand(column: ColumnInfo): Fragment;
  /**
   * Returns the column in the form of its index, or null if that form is {@link operand}. Values
   * that are equal as operands are also equal in this form, and this form makes further values
   * equal. A comparison uses both forms: this one for the index, and the operand to be exact.
   */
  indexed(column: ColumnInfo): Fragment | null;
  /** Returns the column for ranges and ORDER BY: by code point on tables of the service. */
  ordered(column: ColumnInfo): Fragment;
  /**
   * Returns the last columns of an ORDER BY, after the `ordered` columns. Then two rows sort as
   * equal only if none of `columns` distinguishes them, whatever the kinds and collations.
   */
  distinguished(
    columns: readonly ColumnInfo[],
    ordered: ReadonlySet<ColumnInfo>,
  ): readonly Fragment[];
  /** Returns a bound value that is compared with {@link operand} or {@link ordered}. */
  bound(value: unknown, column: ColumnInfo): Fragment;
  /** Returns a bound stored value as the driver read it, exact even if it is invalid. */
  boundStored(value: SqlValue, column: ColumnInfo): Fragment;

  /**
   * Returns keys of stored values of these columns as a table, bound as one value: their ordinals,
   * counted from 0, and the values. Each value can be compared with the {@link operand} of the
   * column at the same position in `others`.
   */
  listed(
    keys: readonly (readonly SqlValue[])[],
    columns: readonly ColumnInfo[],
    others: readonly ColumnInfo[],
    names: ListNames,
  ): Fragment;
  /**
   * Returns the first rows of each of the {@link listed} keys, found key by key. The rows of one
   * key are adjacent and in order: the columns, then the ordinal of the key. Requires that no
   * primary key is NULL.
   */
  firstOfEach(rows: RowsOfKeys): Fragment;
  /**
   * The dialect for a read of one row by its key, whose plan does not depend on values. Absent if
   * it is this dialect.
   */
  readonly withoutEstimates?: Dialect;
  /** True if the planner evaluates an EXISTS once for all rows when that is cheaper. */
  readonly plansSemiJoins: boolean;
  /** Marks a comparison as matching few rows, so that the planner uses an index on its column. */
  selective(comparison: Fragment): Fragment;
  /** True if one comparison of rows, `(a, b) > (1, 2)`, uses an index over several columns. */
  readonly comparesRows: boolean;
  /**
   * SQL that returns the first columns of the indexes that support {@link operand}: schema (null
   * for the default one), table, column. Primary keys may be missing.
   */
  readonly leadingColumns: string;

  /**
   * Returns which comparisons with the column have the same result in memory. For columns of the
   * service's tables, all comparisons do, and {@link certified} limits the operators.
   */
  comparesAsMemory(column: ColumnInfo): ComparesAsMemory;
  /** The operators whose results in memory were proved to equal those of the engine. */
  readonly certified: CertifiedOperators;

  /**
   * Returns a condition that is always true. A driver uses the condition to end a statement that
   * has examined too many rows. If the statement joins tables, `column` belongs to the table whose
   * rows are counted. `integer` differs from row to row. Null if the engine can end statements.
   */
  readonly scanCheck: ((column?: Fragment, integer?: Fragment) => Fragment) | null;
  /** Returns a condition after GROUP BY that checks the aggregated rows. */
  readonly groupCheck: ((check: Fragment) => Fragment) | null;
  /**
   * Returns an item of RETURNING that makes the statement fail as `outside-scope` unless the row
   * meets the condition. Null if the engine has no such expression.
   */
  readonly requireRow: ((condition: Fragment) => Fragment) | null;
  /** The clause after a SELECT that locks its rows until the transaction ends. */
  readonly rowLock: Fragment;
  /**
   * Returns the statement that advances the counter of a key to its largest value. Null if the
   * counter adapts to the values automatically.
   */
  readonly advanceCounter: ((column: ColumnInfo, table: TableInfo) => Statement) | null;
  /** The smallest step between two update timestamps, in microseconds. */
  readonly timestampStepMicros: number;
  /** An expression for the current time, in the format of the service's timestamp columns. */
  readonly currentTimestampSql: string;
  /** Returns the column's database default in an UPDATE. */
  columnDefault(column: ColumnInfo): Fragment;

  /** The planner's estimate of the number of rows, or null if the engine has none. */
  readonly estimate: RowEstimate | null;
  /** The SQL for conditions on rows that are not, or not yet, in their table. */
  readonly images: ImageDialect;

  /** The SQL for the text operators, which mean the same on every engine. */
  readonly text: TextDialect;
  /** The SQL for values within JSON documents. */
  readonly jsonPaths: JsonPathDialect;
  /** The SQL for the items of lists. */
  readonly lists: ListDialect;
  /** The SQL for metrics over groups of rows. */
  readonly metrics: MetricDialect;
  /** The SQL for the beginnings of long values. */
  readonly preview: PreviewDialect;
  /** The SQL for the plans of statements. */
  readonly explain: ExplainDialect;
}

/** The part of a dialect for the planner's estimate of a select's rows, without running it. */
export interface RowEstimate {
  /** Returns the statement for a select, whose only cell {@link parse} takes. */
  statement(select: Fragment): Fragment;
  /** Returns the estimate, or null for a cell without an estimate. */
  parse(cell: SqlValue): number | null;
}

/** The names of a list of keys and of its columns, which no table of the statement uses. */
export interface ListNames {
  /** The name of the list. */
  readonly list: Fragment;
  /** The name of the column with the ordinal of each key. */
  readonly ordinal: Fragment;
  /** The names of the columns with the values of each key. */
  readonly values: readonly Fragment[];
  /** The name of the column that numbers the rows of each key. */
  readonly rank: Fragment;
}

/** Input of the statement that reads rows by a list of keys. */
export interface RowsOfKeys {
  /** The names that the other parts of the statement use. */
  readonly names: ListNames;
  /** The keys, by {@link Dialect.listed}. */
  readonly keys: Fragment;
  /** The table of the rows. */
  readonly table: Fragment;
  /** The primary key of the table. */
  readonly primaryKey: readonly ColumnInfo[];
  /** The columns to read. */
  readonly columns: readonly ColumnInfo[];
  /** The columns by which `order` sorts. */
  readonly sorted: readonly ColumnInfo[];
  /** The condition for the rows that belong to a key of the list. */
  readonly where: Fragment;
  /** The order of the rows, which ends in the primary key. */
  readonly order: Fragment;
  /** Returns the order for rows whose columns have the given names. */
  orderUnder(names: ReadonlyMap<ColumnInfo, string>): Fragment;
  /** The maximum number of rows of each key. */
  readonly limit: number;
  /** The maximum number of rows of all keys together. */
  readonly maxRows: number;
}

/** The operators that a dialect has certified, separated by spaces, for each class of column. */
export type CertifiedOperators = Readonly<Record<CellClass, string>>;

/** The classes of column with certified operators: kinds, and decimals too long for doubles. */
export type CellClass = ColumnKind | "long decimal";

/** The comparisons with a column that have the same result in memory and in the database. */
export type ComparesAsMemory =
  /** All comparisons have the same result. */
  | "wholly"
  /** All comparisons except for ranges, whose result depends on the column's collation. */
  | "but for order"
  /** No comparison is certain to have the same result. */
  | "never";

/** The part of a dialect for conditions on row images, which are not in their table. */
export interface ImageDialect {
  /** The maximum number of rows in one statement. */
  readonly maxRows: number;
  /** Returns a key. One statement can contain only rows with equal keys. */
  batchKey(row: readonly SqlValue[], columns: readonly ColumnInfo[]): string;
  /**
   * Returns the item after FROM. A condition can use the item like the table: the item has the
   * table's name, and the types and collations of its columns.
   */
  from(images: RowImages): Fragment;
}

/** Row images for FROM: rows of a table as values. */
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
 * The part of a dialect for the text operators. `operand` is SQL of a string. `argument` is the
 * literal string of the filter. `fold` is the project's case folding (Unicode simple lower case per
 * code point, ς as σ, and no non-ASCII code point folds to ASCII).
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
  /** Like `contains`, after case folding of both strings. */
  containsFolded(operand: Fragment, argument: string): Fragment;
  /** Like `startsWith`, after case folding of both strings. */
  startsWithFolded(operand: Fragment, argument: string): Fragment;
  /** Like `endsWith`, after case folding of both strings. */
  endsWithFolded(operand: Fragment, argument: string): Fragment;
  /** Like `like`, after case folding of both strings. */
  likeFolded(operand: Fragment, pattern: string): Fragment;
  /** Returns SQL for the number of code points. */
  length(operand: Fragment): Fragment;
}
