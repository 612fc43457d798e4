import type { ActingRoles } from "./acting_roles.ts";
import type { Dialect, EngineParts } from "../../sql/dialect.ts";
import type { MigrationsEngine } from "./migrations_engine.ts";
import type { ColumnInfo, TableInfo } from "../../schema/table_info.ts";
import type { Connection, Driver } from "../driver.ts";
import type { DatabaseError } from "../database_error.ts";
import type { RemovablePart } from "../installed/removable_parts.ts";
import type { SqlValue, Statement } from "../../sql/fragment.ts";
import type { Introspection, IntrospectOptions } from "../introspection.ts";
import type { Random } from "../../runtime/runtime.ts";
import type { ResolvedChangesOptions } from "../changes/changes_options.ts";
import type { ChangeLog } from "../changes/change_log.ts";

/** The code for one database engine. Code outside of `src/engines/` never compares its name. */
export interface DatabaseEngine extends EngineParts {
  readonly catalog: CatalogEngine;
  readonly changes: ChangesEngine;
  readonly constraints: ConstraintsEngine;
  readonly installed: InstalledEngine;
  readonly roles: RolesEngine | null;
  plan(driver: Driver, statement: UnboundStatement): Promise<readonly string[]>;
  /** Loads the code for migrations, which most processes do not need. */
  migrations(): Promise<MigrationsEngine>;
}

export interface UnboundStatement {
  readonly text: string;
  readonly parameters: number;
}

export interface RoleLimits {
  readonly role: string;
  readonly hidesRows: boolean;
  /** True if clients may get estimated counts: the role sees all rows, and no table is remote. */
  readonly mayEstimate: boolean;
  readonly unreadable: readonly ColumnInfo[];
}

/** A table whose policies a role bypasses when it reads a served table or view. */
export interface PolicyBypass {
  readonly role: string;
  readonly of: string;
  /** Why the role bypasses the policies (part of a sentence); null if the table itself has them. */
  readonly why: string | null;
}

interface RolesEngine {
  acting(
    driver: Driver,
    roles: readonly string[],
    tables: readonly TableInfo[],
  ): Promise<ActingRoles>;
  limits(driver: Driver, tables: readonly TableInfo[]): Promise<ReadonlyMap<TableInfo, RoleLimits>>;
  /** For each table, returns the tables whose policies do not apply when the role reads it. */
  bypasses(
    driver: Driver,
    tables: readonly TableInfo[],
  ): Promise<ReadonlyMap<TableInfo, readonly PolicyBypass[]>>;
}

export type RowValues = ReadonlyMap<ColumnInfo, unknown>;

export interface RefusedWrite {
  readonly table: TableInfo;
  /** The values that the write would have stored, or null if the values are unknown. */
  readonly values: RowValues | null;
  readonly driver: Driver;
}

interface ConstraintsEngine {
  /** Returns the columns' database names. Empty if the engine does not name the constraint. */
  columnsOf(error: DatabaseError, write: RefusedWrite): Promise<readonly string[]>;
}

export type AnnounceRemoval = (parts: readonly RemovablePart[]) => void;

interface InstalledEngine {
  /** SQL that returns a fingerprint. It changes when a trigger of the change log changes. */
  readonly triggers: string;
  /** A table expression whose column `name` contains the names of tables, views and indexes. */
  readonly relations: string;
  changesOfServing(connection: Connection): Promise<readonly string[]>;
  /** Removes installed parts; true if any existed. Null if the database must be closed first. */
  readonly uninstall: ((driver: Driver, announce: AnnounceRemoval) => Promise<boolean>) | null;
  /** The objects that the change log adds to a database, as a part of a sentence. */
  readonly logParts: string;
}

export interface CatalogEngine {
  introspect(driver: Driver, options: IntrospectOptions): Promise<Introspection>;
  /** SQL that returns a fingerprint. It changes when a table, a constraint or a trigger changes. */
  readonly schemaVersion: string;
  hasTable(table: Pick<TableInfo, "schema" | "name">): Statement;
  /** Prevents two processes from creating a table concurrently; null if the engine prevents it. */
  readonly creationLock: Statement | null;
  /** True if a foreign key can refer to a table that is created later. */
  readonly allowsForwardReferences: boolean;
  readonly searchLock: Statement | null;
  canCompareTypes(declared: string, existing: string): boolean;
  foldName(name: string): string;
  readonly maxNameBytes: number | null;
  /** A query that returns `t` if the role may create tables, or null if every connection may. */
  readonly mayCreateTables: string | null;
  /** Selects schema and name of tables in which a trigger or rule changes rows after the write. */
  readonly tablesWithLaterChanges: string | null;
  /** Selects schema and name of tables whose triggers or rules act even if no row is written. */
  readonly tablesWithEffectsAlone: string | null;
  conflictTables(
    connection: Connection,
    tables: readonly TableInfo[],
  ): Promise<readonly TableInfo[]>;
}

export function engineOf(
  { dialect }: { readonly dialect: Pick<Dialect, "parts"> },
): DatabaseEngine {
  // The cast is safe: `parts` is an engine in each dialect, but `src/sql` may not import its type.
  return dialect.parts as DatabaseEngine;
}

/** Wakes the readers of the change log when it can have new entries. A hint can be spurious. */
export interface ChangeHints {
  add(listener: () => void): () => void;
  close(): Promise<void>;
}

export interface PollingListener {
  readonly notify: () => void;
  /** Finds and records other programs' writes to tables without triggers. Null if impossible. */
  readonly findUntracked: (() => Promise<void>) | null;
}

export interface PollingMethod {
  readonly poll: () => Promise<boolean>;
  readonly minMs: number;
  readonly maxMs: number;
}

export interface ChangeLogSetup {
  readonly driver: Driver;
  readonly tables: readonly TableInfo[];
  readonly changes: Pick<ResolvedChangesOptions, "mode" | "schema" | "exclude" | "history">;
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
  polling(driver: Driver, listener: PollingListener): PollingMethod;
  /** A query for the log position before a write. Null if the log records transaction ids. */
  readonly mark: string | null;
  changesSince(table: TableInfo, mark: SqlValue): Statement;
  readonly versions: VersionsSql;
  /** The rest of a sentence for the operator: which changes streams miss without triggers. */
  readonly untrackedConsequence: string;
  /** A sentence for the operator: which writes streams show without triggers. */
  readonly ownWrites: string;
  /** Returns a sentence for the operator: why no change log can be set up, and a remedy. */
  whyForbidden(
    driver: Driver,
    tables: readonly TableInfo[],
    changes: Pick<ResolvedChangesOptions, "mode" | "schema">,
  ): Promise<string>;
}

export interface OpenSourceOptions {
  readonly hints: ChangeHints;
  readonly changes: ResolvedChangesOptions;
  readonly onSecured: (tables: ReadonlySet<TableInfo>) => void;
}

export interface ChangeSource {
  /** The tables of which only writes of this service are recorded. */
  readonly untracked: readonly TableInfo[];
  /** Resolves to a function that records other programs' writes, or to null on Postgres. */
  findUntracked(): Promise<(() => Promise<void>) | null>;
  open(options: OpenSourceOptions): Promise<ChangeLog>;
  recordingDriver(): Driver;
}

/** SQL for the table `_service_history`, which contains the versions of rows. */
export interface VersionsSql {
  /** Returns an expression for the name of a table in the column `table`. */
  tableName(table: TableInfo, place: (value: SqlValue) => string): string;
  /** Returns an expression for the column `key`, in a SELECT from the table of the row. */
  keyOf(table: TableInfo): string;
  /** Sets the user and operation to record with the transaction's next writes. Can be repeated. */
  beginActor(actor: { readonly user: string | null; readonly operation: string }): Statement;
  /** Restores the previous user and operation, or sets none. */
  readonly endActor: Statement;
  /** True if the engine forgets the user and the operation when the transaction ends. */
  readonly endsWithTransaction: boolean;
}
