import { columnInfoOf, type ColumnLike, tableInfoOf } from "../../schema/table_like.ts";
import type { ColumnInfo } from "../../schema/table_info.ts";

/** The option `changes`: how changes are recorded, and for how long. */
export interface ChangesOptions {
  /**
   * `"triggers"`, the default: the database records every change, whichever program makes it.
   * `"service"`: only writes of this service are recorded, for where no trigger may be installed.
   */
  readonly mode?: "triggers" | "service" | undefined;
  /** Columns that are never recorded. A key cannot be left out. */
  readonly exclude?: readonly ColumnLike<unknown>[] | undefined;
  /** How long changes are kept. One hour by default, five minutes at least. */
  readonly retentionMs?: number | undefined;
  /** About how many changes are kept once they are five minutes old; 1,000,000 by default. */
  readonly maxRows?: number | undefined;
}

/** The option `changes` with every default filled in. */
export interface ResolvedChangesOptions {
  readonly mode: "triggers" | "service";
  readonly exclude: ReadonlySet<ColumnInfo>;
  readonly retentionMs: number;
  readonly maxRows: number;
}

/** The least retention that the option `changes` allows: readers of the log lag by less. */
export const minRetentionMs = 300_000;

/**
 * Fills in the defaults of the option `changes`. Throws a plain Error for values that cannot be
 * meant.
 */
export function resolveChangesOptions(options: ChangesOptions = {}): ResolvedChangesOptions {
  const { mode = "triggers", exclude = [], retentionMs = 3_600_000, maxRows = 1_000_000 } = options;
  if (mode !== "triggers" && mode !== "service") {
    throw new Error(`Cannot use changes.mode ${JSON.stringify(mode)}: use "triggers" or "service"`);
  }
  if (!Number.isSafeInteger(retentionMs) || retentionMs < minRetentionMs) {
    throw new Error(
      `Cannot use changes.retentionMs ${retentionMs}: use a whole number from ${minRetentionMs}`,
    );
  }
  if (!Number.isSafeInteger(maxRows) || maxRows < 1) {
    throw new Error(`Cannot use changes.maxRows ${maxRows}: use a whole number from 1`);
  }
  for (const column of exclude) {
    const info = columnInfoOf(column);
    if (!info.primaryKey) continue;
    const { name } = tableInfoOf(column);
    throw new Error(
      `Cannot leave ${name}.${info.name} out of changes: without the key a row cannot be identified`,
    );
  }
  return { mode, exclude: new Set(exclude.map(columnInfoOf)), retentionMs, maxRows };
}
