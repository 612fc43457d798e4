import type { TableLike } from "../schema/table_like.ts";
import type { DatabaseHandle } from "./database_handle.ts";
import type { Driver } from "./driver.ts";
import type { Introspection, IntrospectOptions } from "./introspection.ts";
import type { Migration } from "./migrations/migrate_tables.ts";
import type { MigrateOptions } from "./migrations/migrate_options.ts";

/** An open database that resources can be served from. */
export interface Database extends DatabaseHandle {
  /** The driver that runs the statements of this database. */
  readonly driver: Driver;
  /** The scheme of the URL and the path or host, for messages. Never contains a password. */
  readonly label: string;
  /** Creates the missing tables in one transaction. Existing tables are not changed. */
  createTables(tables: readonly TableLike<unknown, unknown>[]): Promise<void>;
  /**
   * Makes the tables of the database match the declared tables, in one transaction: adds missing
   * parts and changes the parts that differ. Returns the changes. Changes that lose values must be
   * named in `allowDrop`. If the migration is not possible, throws an Error that names the reason.
   *
   * @example
   * ```ts
   * import { integer, openDatabase, table, text } from "@svc/resource-api";
   *
   * const notes = table("notes", { id: integer().primaryKey(), title: text() });
   * const db = await openDatabase("sqlite::memory:");
   * const { steps } = await db.migrate([notes]);
   * console.log(steps.map(({ sql }) => sql)); // ["CREATE TABLE …"]
   * await db.close();
   * ```
   */
  migrate(
    tables: readonly TableLike<unknown, unknown>[],
    options?: MigrateOptions,
  ): Promise<Migration>;
  /** Describes the existing tables. If a table cannot be served, the result contains the reason. */
  introspect(options?: IntrospectOptions): Promise<Introspection>;
  /** Waits for running transactions, then closes the database. A second call has no effect. */
  close(): Promise<void>;
}
