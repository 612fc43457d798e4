import { type Described, group, listOf } from "../../options/option.ts";
import { oneOf, other, textLike, whole } from "../../options/option_kinds.ts";
import { columnInfoOf, type ColumnLike, isColumn, tableInfoOf } from "../../schema/table_like.ts";
import type { ColumnInfo } from "../../schema/table_info.ts";

/** The option `changes`: how changes are recorded, and for how long. */
export interface ChangesOptions {
  /**
   * `"triggers"`, the default: the database records every change, whichever program makes it.
   * `"service"`: only writes of this service are recorded, for where no trigger may be installed.
   */
  readonly mode?: "triggers" | "service" | undefined;
  /**
   * The schema of Postgres in which the log is created, where there is none yet: one of the role's
   * search path. The first schema of that path unless set.
   */
  readonly schema?: string | undefined;
  /** Columns that are never recorded. A key cannot be left out. */
  readonly exclude?: readonly ColumnLike<unknown>[] | undefined;
  /** How long changes are kept. One hour by default, five minutes at least. */
  readonly retentionMs?: number | undefined;
  /** About how many changes are kept once they are five minutes old; 1,000,000 by default. */
  readonly maxRows?: number | undefined;
}

/** The least retention that the option `changes` allows: readers of the log lag by less. */
export const minRetentionMs = 300_000;

const recordedColumn = other<ColumnLike<unknown>>(
  "a column",
  (given) => isColumn(given) && !columnInfoOf(given).primaryKey,
).advising((given) => {
  if (!isColumn(given)) return null;
  const name = `${tableInfoOf(given).name}.${columnInfoOf(given).name}`;
  return `must not be ${name}: without the key a row cannot be identified`;
});

/** The options of `changes`, described. Without `mode` it is as the tables are. */
export const changesOptions = group(
  {
    mode: oneOf("triggers", "service"),
    schema: textLike("the name of a schema", /^[^\0]+$/),
    exclude: listOf("columns", recordedColumn).unlessSet([]),
    retentionMs: whole({ from: minRetentionMs }).unlessSet(3_600_000),
    maxRows: whole({ from: 1 }).unlessSet(1_000_000),
  } satisfies Described<ChangesOptions>,
).unlessSet({});

/** The option `changes` with every default filled in. */
export interface ResolvedChangesOptions {
  readonly mode: "triggers" | "service";
  /** Null for the first schema of the search path. */
  readonly schema: string | null;
  readonly exclude: ReadonlySet<ColumnInfo>;
  readonly retentionMs: number;
  readonly maxRows: number;
}

/**
 * Fills in the defaults of the option `changes`. Throws a plain Error for values that cannot be
 * meant.
 */
export function resolveChangesOptions(options?: ChangesOptions): ResolvedChangesOptions {
  const { mode = "triggers", schema = null, exclude, retentionMs, maxRows } = changesOptions.read(
    options,
    {
      subject: "Cannot start",
      path: "changes",
    },
  );
  return { mode, schema, exclude: new Set(exclude.map(columnInfoOf)), retentionMs, maxRows };
}
