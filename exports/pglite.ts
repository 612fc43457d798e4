/**
 * The driver for PGlite, a Postgres that runs inside the process. `openDatabase` loads it for the
 * URL `pglite:PATH`.
 *
 * @example
 * ```ts ignore
 * import { openDatabase } from "@svc/resource-api";
 * import { openPglite } from "@svc/resource-api/pglite";
 *
 * const db = await openDatabase(await openPglite("./data")); // the folder of the database
 * ```
 *
 * @module
 */
export {
  openPglite,
  openPgliteOfClient,
  type PgliteOptions,
} from "../src/engines/postgres/driver/pglite_driver.ts";
