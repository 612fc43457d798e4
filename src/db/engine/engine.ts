import type { ActingRoles } from "./acting_roles.ts";
import type { EngineParts } from "../../sql/dialect.ts";
import type { ChangesEngine } from "./changes_engine.ts";
import type { MigrationsEngine } from "./migrations_engine.ts";
import type { ColumnInfo, TableInfo } from "../../schema/table_info.ts";
import type { Connection, Driver } from "../driver.ts";
import type { DatabaseError } from "../database_error.ts";
import type { InstalledPart } from "../installed/installed_parts.ts";
import type { Statement } from "../../sql/fragment.ts";
import type { Introspection, IntrospectOptions } from "../introspection.ts";

/**
 * A database engine: everything that differs between engines outside of SQL text. Code outside of
 * `src/engines/` calls its members and never compares its name.
 */
export interface DatabaseEngine extends EngineParts {
  readonly catalog: CatalogEngine;
  readonly changes: ChangesEngine;
  readonly constraints: ConstraintsEngine;
  readonly installed: InstalledEngine;
  /** The roles of the engine, or null if databases of the engine have no roles. */
  readonly roles: RolesEngine | null;
  /** Loads the migrations, which most processes do not need. */
  migrations(): Promise<MigrationsEngine>;
}

/** The parts of one table that a database hides from the service's role. */
export interface RoleLimits {
  readonly role: string;
  /** True if policies decide which rows the role sees. */
  readonly hidesRows: boolean;
  /** True if the statistics of the database count only rows that the role sees. */
  readonly mayEstimate: boolean;
  readonly unreadable: readonly ColumnInfo[];
}

/** A protected table whose rows another table or view shows although no policy restricts the role. */
export interface PolicyBypass {
  readonly role: string;
  /** The name of the protected table. */
  readonly of: string;
  /** The reason as a clause, or null if the protected table is the served table itself. */
  readonly why: string | null;
}

/** The roles of an engine: the users of a database, with rights of their own. */
export interface RolesEngine {
  /** Reads what the login role and other roles may do. */
  acting(
    driver: Driver,
    roles: readonly string[],
    tables: readonly TableInfo[],
  ): Promise<ActingRoles>;
  limits(driver: Driver, tables: readonly TableInfo[]): Promise<ReadonlyMap<TableInfo, RoleLimits>>;
  /** Reads the policies that do not apply to the role in these tables. */
  bypasses(
    driver: Driver,
    tables: readonly TableInfo[],
  ): Promise<ReadonlyMap<TableInfo, readonly PolicyBypass[]>>;
}

/** The values of a row by column, as a write contains them. */
export type RowValues = ReadonlyMap<ColumnInfo, unknown>;

/** The known properties of a write that a constraint rejected. */
export interface RefusedWrite {
  readonly table: TableInfo;
  /** The values that the write would have stored, or null if the values are unknown. */
  readonly values: RowValues | null;
  readonly driver: Driver;
}

/** Finds the columns of a constraint that rejected a write. */
export interface ConstraintsEngine {
  /** Returns the columns' database names, or none if the engine does not name the constraint. */
  columnsOf(error: DatabaseError, write: RefusedWrite): Promise<readonly string[]>;
}

/** Receives the parts before they are removed. */
export type AnnounceRemoval = (parts: readonly InstalledPart[]) => void;

export interface InstalledEngine {
  /** A query for a string that changes if a trigger of the change log changes. */
  readonly triggers: string;
  /** The SQL of a table whose column `name` contains the names of tables, views and indexes. */
  readonly relations: string;
  /** Returns the changes that the service makes besides new tables, as parts of a sentence. */
  changesOfServing(connection: Connection): Promise<readonly string[]>;
  /**
   * Calls `announce` with the installed parts, and then removes these parts. Returns true if there
   * were any. Null if no connection can remove them.
   */
  readonly uninstall: ((driver: Driver, announce: AnnounceRemoval) => Promise<boolean>) | null;
  /** The objects that the change log adds to a database, as a part of a sentence. */
  readonly logParts: string;
}

/** The catalog of an engine: the existing tables, and the creation of tables. */
export interface CatalogEngine {
  /** Describes the existing tables, and says why other tables cannot be served. */
  introspect(driver: Driver, options: IntrospectOptions): Promise<Introspection>;
  /** A query for a string that changes if a table, a constraint or a trigger changes. */
  readonly schemaVersion: string;
  /** Returns a query that returns a row if a table or view of this name exists. */
  hasTable(table: Pick<TableInfo, "schema" | "name">): Statement;
  /** Prevents two processes from creating a table at the same time. Null if no lock is needed. */
  readonly creationLock: Statement | null;
  /** True if a foreign key may name a table that is created later. */
  readonly allowsForwardReferences: boolean;
  /** Prevents two processes from creating the tables of a search index at the same time. */
  readonly searchLock: Statement | null;
  /** Returns true if a column of the existing type can be served as one of the declared type. */
  canCompareTypes(declared: string, existing: string): boolean;
  /** Returns the form of a table's name by which the engine compares it. */
  foldName(name: string): string;
  /** The maximum length of a name in bytes, or null for no limit. */
  readonly maxNameBytes: number | null;
  /** A query that returns `t` if the role may create tables, or null if every connection may. */
  readonly mayCreateTables: string | null;
  /**
   * A query for the schema and the name of each table in which a trigger or a rule may change a row
   * after the statement that wrote the row. The schema is null for the default one. Null if no
   * caller needs these tables.
   */
  readonly tablesWithLaterChanges: string | null;
  /**
   * A query for the schema and the name of each table in which a trigger or a rule may change rows
   * when a statement writes no row. Null if no caller needs these tables.
   */
  readonly tablesWithEffectsAlone: string | null;
  /** Returns the tables whose definitions say how the database resolves a conflict. */
  conflictTables(
    connection: Connection,
    tables: readonly TableInfo[],
  ): Promise<readonly TableInfo[]>;
}
