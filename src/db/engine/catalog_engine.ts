import type { TableInfo } from "../../schema/table_info.ts";
import type { Statement } from "../../sql/fragment.ts";
import type { Connection, Driver } from "../driver.ts";
import type { Introspection, IntrospectOptions } from "../introspection.ts";

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
