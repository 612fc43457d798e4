import { groupOf, listOf } from "../../options/option.ts";
import { oneOf, testedValue, textLike, whole } from "../../options/option_kinds.ts";
import { columnInfoOf, type ColumnLike, isColumn, tableInfoOf } from "../../schema/table_like.ts";
import type { ColumnInfo, TableInfo } from "../../schema/table_info.ts";

/** The option `changes`: how the service records changes, and how long it keeps them. */
export interface ChangesOptions {
  /**
   * `"triggers"`: triggers record every change, by any program. `"service"`: only writes of this
   * service are recorded, without triggers. Default: `"triggers"` if `table()` declares all tables.
   */
  readonly mode?: "triggers" | "service" | undefined;
  /** The Postgres schema for a new change log. Default: the first schema in the search path. */
  readonly schema?: string | undefined;
  /** Columns whose values are never recorded. Key columns must be recorded. */
  readonly exclude?: readonly ColumnLike<unknown>[] | undefined;
  /** How long changes are kept, in milliseconds. Default: one hour. Minimum: five minutes. */
  readonly retentionMs?: number | undefined;
  /** The approximate maximum number of kept changes older than five minutes. Default: 1,000,000. */
  readonly maxRows?: number | undefined;
}

/** The minimum of `retentionMs`: all readers of the log have read changes of this age. */
export const minRetentionMs = 300_000;

const recordedColumn = testedValue<ColumnLike<unknown>>(
  "a column",
  (given) => isColumn(given) && !columnInfoOf(given).primaryKey,
).advising((given) => {
  if (!isColumn(given)) return null;
  const name = `${tableInfoOf(given).name}.${columnInfoOf(given).name}`;
  return `must not be ${name}: without the key a row cannot be identified`;
});

export const changesOptionRules = groupOf<ChangesOptions>()({
  mode: oneOf("triggers", "service"),
  schema: textLike("the name of a schema", /^[^\0]+$/),
  exclude: listOf("columns", recordedColumn).default([]),
  retentionMs: whole({ from: minRetentionMs }).default(3_600_000),
  maxRows: whole({ from: 1 }).default(1_000_000),
}).default({});

export interface ResolvedChangesOptions {
  readonly mode: "triggers" | "service";
  readonly schema: string | null;
  readonly exclude: ReadonlySet<ColumnInfo>;
  readonly retentionMs: number;
  readonly maxRows: number;
  /**
   * The tables whose versions are recorded, and how long these are kept, in milliseconds. If
   * undefined, the set-up of the change log keeps the recording of versions as it is.
   */
  readonly history?: ReadonlyMap<TableInfo, number>;
}

export function resolveChangesOptions(options?: ChangesOptions): ResolvedChangesOptions {
  const { mode = "triggers", schema = null, exclude, retentionMs, maxRows } = changesOptionRules
    .read(options, { subject: "Cannot start", path: "changes" });
  return { mode, schema, exclude: new Set(exclude.map(columnInfoOf)), retentionMs, maxRows };
}
