import type { TableInfo } from "../../schema/table_info.ts";
import type { Statement } from "../../sql/fragment.ts";
import type { Connection, Driver } from "../driver.ts";
import type { Introspection, IntrospectOptions } from "../introspection.ts";

/** The catalog of an engine: which tables there are, and how tables are created. */
export interface CatalogEngine {
  /** Describes the existing tables, and which were left out and why. */
  introspect(driver: Driver, options: IntrospectOptions): Promise<Introspection>;
  /** A query for a string that changes with every table, constraint or trigger. */
  readonly schemaVersion: string;
  /** Returns a query for a row, which there is if a table or view of this name exists. */
  hasTable(table: Pick<TableInfo, "schema" | "name">): Statement;
  /** Runs before tables are created, so that two processes do not create one twice; null for none. */
  readonly creationLock: Statement | null;
  /** True if a foreign key may name a table that is created later. */
  readonly allowsForwardReferences: boolean;
  /** Returns a name of a table as the engine compares it with others. */
  foldName(name: string): string;
  /** The most bytes of a name; null for no limit. */
  readonly maxNameBytes: number | null;
  /** A query for `t` if the role may create tables; null if every connection may. */
  readonly mayCreateTables: string | null;
  /** Returns those of the tables that have a conflict clause of their own. */
  conflictTables(
    connection: Connection,
    tables: readonly TableInfo[],
  ): Promise<readonly TableInfo[]>;
}
