import type { TableLike } from "../schema/table_like.ts";
import type { DatabaseHandle } from "./database_handle.ts";
import type { Driver } from "./driver.ts";
import type { Introspection, IntrospectOptions } from "./introspection.ts";
import type { Migration } from "./migrations/migrate_tables.ts";
import type { MigrateOptions } from "./migrations/migrate_options.ts";

/** An open database that resources can be served from. */
export interface Database extends DatabaseHandle {
  /** The driver of its library. */
  readonly driver: Driver;
  /** For messages: the scheme and the path or host, never a password. */
  readonly label: string;
  /** Creates the missing tables, all or none; existing tables stay as they are. */
  createTables(tables: readonly TableLike<unknown, unknown>[]): Promise<void>;
  /**
   * Makes the database as the tables are declared: adds what is missing and changes what differs, in
   * one transaction, and gives what was done. What loses values needs to be named in `allowDrop`.
   * Throws an Error that says what stands in the way.
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
  /** Describes the existing tables, and which were left out and why. */
  introspect(options?: IntrospectOptions): Promise<Introspection>;
  /** Waits for running transactions, then closes the database. A second call does nothing. */
  close(): Promise<void>;
}
