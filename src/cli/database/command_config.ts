import type { AppConfig } from "../../app/config.ts";
import type { Runtime } from "../../runtime/runtime.ts";
import { decideCliRights } from "../cli_service.ts";
import { requireConfiguration } from "../configuration_file.ts";
import type { GivenAdditions } from "./additions.ts";

export interface SourceArguments extends GivenAdditions {
  readonly database: string | null;
  /** The path of a configuration file, or null for the file in the current folder. */
  readonly config: string | null;
  /** The Postgres schemas with the tables; null for the first schema in the search path. */
  readonly schemas: readonly string[] | null;
}

export async function configOfSource(
  { database, config, schemas, additions }: SourceArguments,
  runtime: Runtime,
  isSearched: boolean,
): Promise<AppConfig> {
  if (database === null) {
    const hint = "name a database, or a configuration by --config";
    return { runtime, ...await requireConfiguration(config, hint) };
  }
  const rights = decideCliRights({ host: "127.0.0.1", public: false, writable: true }, "");
  const { serveDatabase } = await import("./serve_database.ts");
  const { config: served } = await serveDatabase(database, {
    ...{ rights, runtime, kv: undefined, accountsIn: undefined, isSearched },
    ...{ schemas, additions, recording: null },
  });
  return {
    ...served,
    // A random secret prevents the warning about a missing secret. Nothing is encrypted with it.
    secret: runtime.random.bytes(32).toBase64(),
  };
}
