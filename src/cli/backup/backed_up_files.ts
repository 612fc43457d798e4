import { resolve } from "node:path";
import { consoleObserver } from "../../runtime/console_observer.ts";
import { fileOfDatabase } from "../../engines/backup_files.ts";
import { openDrizzleOfConfig } from "../../engines/drizzle/open_configured_database.ts";
import { withoutSecrets } from "../../engines/server_url.ts";
import { isStoreFile, requireStoreLocation } from "../../kv/key_value_location.ts";
import { defaultStoreFile, Misuse } from "../command_options.ts";
import { findConfiguration, loadConfiguration } from "../configuration_file.ts";
import { sqlitePathOf } from "../database/resolve_database_url.ts";
import { pathExists } from "../path_exists.ts";

export interface PlaceArguments {
  readonly database: string | null;
  readonly kv: string | null;
  readonly config: string | null;
}

export interface ServiceFiles {
  readonly database: string | null;
  readonly kv: string | null;
  readonly notices: readonly string[];
}

export async function findServiceFiles(
  { database, kv, config }: PlaceArguments,
): Promise<ServiceFiles> {
  if (database !== null) {
    const store = kv ?? (await pathExists(defaultStoreFile) ? defaultStoreFile : null);
    return await filesOf(sqlitePathOf(database), store, withoutSecrets(database));
  }
  const found = config ?? await findConfiguration();
  if (found === null) {
    throw new Misuse("There is no service.config.ts here: name a database, or use --config");
  }
  const loaded = await loadConfiguration(found);
  const { db } = await openDrizzleOfConfig(loaded, { observe: consoleObserver() });
  const path = await fileOfDatabase(db);
  // `copyFiles` requires that this process does not have the files open.
  await db.close();
  const store = kv ?? (typeof loaded.kv === "string" ? loaded.kv : null);
  return await filesOf(path, store, db.label);
}

export async function realPathOf(path: string): Promise<string> {
  return await Deno.realPath(path).catch(() => resolve(path));
}

async function filesOf(
  path: string | null,
  kv: string | null,
  label: string,
): Promise<ServiceFiles> {
  const notices: string[] = [];
  if (path === null) {
    notices.push(
      `${label} is no file: back it up by its own means, for example pg_dump --format=custom`,
    );
  }
  const isFile = isStoreFile(kv);
  if (isFile) requireStoreLocation(kv);
  else {
    notices.push(
      kv === null || kv === ":memory:"
        ? "There is no key-value store in a file: limits, keys and credits are not in the backup"
        : `${withoutSecrets(kv)} is a server: back it up by its own means`,
    );
  }
  return {
    database: path === null ? null : await realPathOf(path),
    kv: isFile ? await realPathOf(kv) : null,
    notices,
  };
}
