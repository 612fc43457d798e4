import type { Random } from "../../runtime/runtime.ts";
import type { ColumnInfo, TableInfo } from "../../schema/table_info.ts";
import type { ResolvedChangesOptions } from "../changes/changes_options.ts";
import type { Driver } from "../driver.ts";
import type { SqlValue, Statement } from "../../sql/fragment.ts";
import type { ChangeLog } from "../changes/change_log.ts";

/** Wakes the readers of the change log when it can have new entries. A hint can be spurious. */
export interface ChangeHints {
  /** Calls `listener` at every hint. Returns the function that removes it. */
  add(listener: () => void): () => void;
  close(): Promise<void>;
}

export interface PollingListener {
  readonly notify: () => void;
  /** Records other programs' writes to tables without triggers, or null without such tables. */
  readonly findUntracked: (() => Promise<void>) | null;
}

/** How to check for changes of other processes. */
export interface PollingMethod {
  readonly poll: () => Promise<boolean>;
  readonly minMs: number;
  readonly maxMs: number;
}

export interface ChangeLogSetup {
  readonly driver: Driver;
  /** The tables to record, which must exist. */
  readonly tables: readonly TableInfo[];
  readonly changes: Pick<ResolvedChangesOptions, "mode" | "schema" | "exclude">;
  readonly random: Random;
}

export interface ImageFormat {
  /** Returns the values exactly as the row image contains them, by the columns' database names. */
  parse(image: string): ReadonlyMap<string, string>;
  decodeCell(raw: string, column: ColumnInfo): SqlValue;
}

export interface ChangesEngine {
  setUp(setup: ChangeLogSetup): Promise<ChangeSource>;
  readonly images: ImageFormat;
  /** Returns how to check for changes of other processes, and how often. */
  polling(driver: Driver, listener: PollingListener): PollingMethod;
  /** A query for the log position before a write. Null if changes record their transactions. */
  readonly mark: string | null;
  /** Returns a query for the running transaction's changes of a table since the position `mark`. */
  changesSince(table: TableInfo, mark: SqlValue): Statement;
  readonly history: RowHistorySql;
  /** A part of a sentence: the changes that streams do not show if a table has no triggers. */
  readonly untrackedConsequence: string;
  /** A sentence for the operator: the writes that streams show if a table has no triggers. */
  readonly ownWrites: string;
  /** Returns a sentence for the operator: why the log cannot be set up, and the remedy. */
  whyForbidden(
    driver: Driver,
    tables: readonly TableInfo[],
    changes: Pick<ResolvedChangesOptions, "mode" | "schema">,
  ): Promise<string>;
}

export interface OpenSourceOptions {
  readonly hints: ChangeHints;
  readonly changes: ResolvedChangesOptions;
  /** Called with the tables in which policies hide rows, when the set changes, before a read. */
  readonly onSecured: (tables: ReadonlySet<TableInfo>) => void;
}

/** A change log that is set up but not open yet. */
export interface ChangeSource {
  /** The tables of which only writes of this service are recorded. */
  readonly untracked: readonly TableInfo[];
  /** Returns a function that records other programs' writes to `untracked`, or null if empty. */
  findUntracked(): Promise<(() => Promise<void>) | null>;
  open(options: OpenSourceOptions): Promise<ChangeLog>;
  /** Returns the driver for writes. The driver records its own writes if no trigger does. */
  recordingDriver(): Driver;
}

export interface RowHistorySql {
  /** Returns SQL that is true if a change is of this table. `place` returns a placeholder. */
  isTable(table: TableInfo, place: (value: SqlValue) => string): string;
  /** Returns SQL that is true if the column in a row image can have the value of a key. */
  mayHave(
    column: ColumnInfo,
    value: string,
    image: string,
    place: (value: SqlValue) => string,
  ): string;
  /** The time of the change in milliseconds since 1970. */
  readonly at: string;
  readonly before: string;
  readonly after: string;
}
