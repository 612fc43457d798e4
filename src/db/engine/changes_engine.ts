import type { Random } from "../../runtime/runtime.ts";
import type { ColumnInfo, TableInfo } from "../../schema/table_info.ts";
import type { ResolvedChangesOptions } from "../changes/changes_options.ts";
import type { Driver } from "../driver.ts";
import type { SqlValue, Statement } from "../../sql/fragment.ts";
import type { ChangeLog } from "../changes/change_log.ts";

/**
 * Hints that the change log may have something new, for its readers. A read after a hint may find
 * nothing.
 */
export interface ChangeHints {
  /** Calls `listener` at every hint; the function that it returns removes it. */
  add(listener: () => void): () => void;
  /** Returns no more hints. */
  close(): Promise<void>;
}

/** The listener of a poll. */
export interface PollingListener {
  readonly notify: () => void;
  /** Records that other programs wrote to tables without triggers; null if all have them. */
  readonly findUntracked: (() => Promise<void>) | null;
}

/** How to look for changes of other processes. */
export interface PollingMethod {
  /** Returns whether there was anything new. */
  readonly poll: () => Promise<boolean>;
  readonly minMs: number;
  readonly maxMs: number;
}

/** The input for setting up a change log: the tables that it has to record, on either engine. */
export interface ChangeLogSetup {
  readonly driver: Driver;
  /** The tables to record, which have to exist. */
  readonly tables: readonly TableInfo[];
  readonly changes: Pick<ResolvedChangesOptions, "mode" | "schema" | "exclude">;
  readonly random: Random;
}

/** How an engine writes images. */
export interface ImageFormat {
  /** The values as they are written, by the names of their columns in the database. */
  parse(image: string): ReadonlyMap<string, string>;
  /** A value as a driver would have read it from its column. */
  decodeCell(raw: string, column: ColumnInfo): SqlValue;
}

/** How an engine records changes and reads them. */
export interface ChangesEngine {
  /** Sets up the parts of the change log that are missing or have changed. */
  setUp(setup: ChangeLogSetup): Promise<ChangeSource>;
  /** The row images of the log. */
  readonly images: ImageFormat;
  /** Returns how often to look for changes of other processes, and how. */
  polling(driver: Driver, listener: PollingListener): PollingMethod;
  /** A query for the position before a transaction writes; null if each change has its transaction. */
  readonly mark: string | null;
  /** Returns a query for the changes of a table that the running transaction has made since the mark. */
  changesSince(table: TableInfo, mark: SqlValue): Statement;
  /** The members of the log that the history of a row consists of. */
  readonly history: HistoryFormat;
  /** A clause for the operator: how streams see tables without triggers. */
  readonly untrackedConsequence: string;
  /** A sentence for the operator: which writes streams show without triggers. */
  readonly ownWrites: string;
  /** Returns a sentence for the operator who may not set up the log: the obstacle, and its remedy. */
  whyForbidden(
    driver: Driver,
    tables: readonly TableInfo[],
    changes: Pick<ResolvedChangesOptions, "mode" | "schema">,
  ): Promise<string>;
}

/** The options for opening a change log that is set up. */
export interface OpenSourceOptions {
  readonly hints: ChangeHints;
  readonly changes: ResolvedChangesOptions;
  /** Called with the tables of which the database hides rows, before changes since then are given. */
  readonly onSecured: (tables: ReadonlySet<TableInfo>) => void;
}

/** A change log that is set up and not open yet. */
export interface ChangeSource {
  /** The tables of which only the writes of this service are recorded. */
  readonly untracked: readonly TableInfo[];
  /** Returns a function that records the writes of other programs to those; null if there is none. */
  findUntracked(): Promise<(() => Promise<void>) | null>;
  /** Opens the log. */
  open(options: OpenSourceOptions): Promise<ChangeLog>;
  /** Returns the driver to write by: one that records its own writes if no trigger does. */
  recordingDriver(): Driver;
}

/** How the log has the changes of a row, as SQL. */
export interface HistoryFormat {
  /** Returns a condition on the table of a change; `place` binds a value. */
  isTable(table: TableInfo, place: (value: SqlValue) => string): string;
  /** Returns a condition that is true if an image may have the value of a key in its column. */
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
