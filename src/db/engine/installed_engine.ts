import type { Connection, Driver } from "../driver.ts";
import type { InstalledPart } from "../installed/installed_parts.ts";

/** Receives the parts before they are removed. */
export type AnnounceRemoval = (parts: readonly InstalledPart[]) => void;

/** The parts that the service installs in a database. */
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
