import type { Connection } from "../driver.ts";

/** The parts that the service installs in a database. */
export interface InstalledEngine {
  /** A query for a string that changes with the triggers of the change log. */
  readonly triggers: string;
  /** A table expression of all relations, with their `name`. */
  readonly relations: string;
  /** Returns the changes besides tables that serving makes in the database, each as a clause. */
  changesOfServing(connection: Connection): Promise<readonly string[]>;
  /** The parts that the change log adds, as a clause. */
  readonly logParts: string;
}
