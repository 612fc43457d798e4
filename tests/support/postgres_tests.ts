/** Tests of Postgres alone, each over a database of its own. */
import type { Driver } from "../../src/db/driver.ts";
import {
  openPostgres,
  type PostgresOptions,
} from "../../src/engines/postgres/driver/postgres_js_driver.ts";
import { createScratchDatabase } from "./engines.ts";
import { testPostgres, testUnless } from "./skip.ts";

/** Opens a driver that is closed when the test ends; `search` is the query of its URL. */
export type OpenTestDriver = (options?: PostgresOptions, search?: string) => Promise<Driver>;

/** A test over the URL of a Postgres database, which is removed at its end. */
export function testOnPostgres(
  name: string,
  work: (url: string, test: Deno.TestContext) => Promise<void>,
): void {
  const server = testPostgres();
  const missing = "missing" in server ? server.missing : null;
  testUnless(missing, `postgres: ${name}`, async (test) => {
    if ("missing" in server) throw new Error(server.missing);
    const scratch = await createScratchDatabase(server.url);
    try {
      await work(scratch.url, test);
    } finally {
      await scratch.drop();
    }
  });
}

/** A test over drivers of one Postgres database. */
export function testOnPostgresDriver(
  name: string,
  work: (open: OpenTestDriver) => Promise<void>,
): void {
  testOnPostgres(name, async (url) => {
    const drivers: Driver[] = [];
    try {
      await work(async (options, search = "") => {
        const driver = await openPostgres(url + search, options);
        drivers.push(driver);
        return driver;
      });
    } finally {
      await Promise.all(drivers.map((driver) => driver.close()));
    }
  });
}
