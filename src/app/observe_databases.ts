import type { Driver } from "../db/driver.ts";
import { openDatabase } from "../engines/open_database.ts";
import type { ParsedConfig } from "./resolve_resources.ts";
import { type DriverWatch, watchedDriver } from "../service/observability/watched_driver.ts";
import type { Database } from "../db/database.ts";

/** Returns the configuration with drivers that metrics and spans measure. Wraps each only once. */
export async function observeDatabases<Config extends ParsedConfig>(
  config: Config,
  watchOf: (driver: Driver) => DriverWatch,
): Promise<Config> {
  const known = new Map<Driver, Promise<Database>>();
  function watched({ driver }: Database): Promise<Database> {
    const made = known.get(driver) ?? openDatabase(watchedDriver(driver, watchOf(driver)));
    known.set(driver, made);
    return made;
  }
  return {
    ...config,
    db: await watched(config.db),
    resources: await Promise.all(config.resources.map(async (definition) => {
      const { options } = definition;
      if (options.db === undefined) return definition;
      return { ...definition, options: { ...options, db: await watched(options.db) } };
    })),
  };
}
