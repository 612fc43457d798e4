/**
 * The driver for Postgres servers with the library postgres.js. `openDatabase` loads it for the URL
 * `postgres://…`. Import the driver to pass options to it, or for a bundle.
 *
 * @example
 * ```ts ignore
 * import { openDatabase } from "@svc/resource-api";
 * import { openPostgres } from "@svc/resource-api/postgres";
 *
 * const driver = await openPostgres("postgres://ada@localhost/shop", { maxConnections: 20 });
 * const db = await openDatabase(driver);
 * ```
 *
 * @module
 */
export {
  openPostgres,
  openPostgresOfClient,
  type PostgresOptions,
} from "../src/engines/postgres/driver/postgres_js_driver.ts";
export {
  openPostgresKeyValue,
  type PostgresKeyValueOptions,
} from "../src/engines/postgres/kv/open_postgres_key_value.ts";
