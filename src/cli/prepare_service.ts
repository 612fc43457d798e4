import { type ListenOptions, readListenOptions } from "../listen/listener.ts";
import { isInProduction } from "../runtime/production.ts";
import type { Runtime } from "../runtime/runtime.ts";
import { defaultStoreFile } from "./command_options.ts";
import type { ServeCommand } from "./serve_arguments.ts";
import { type CliService, decideCliRights } from "./cli_service.ts";
import { openDrizzleOfConfig } from "../engines/drizzle/open_configured_database.ts";
import type * as Supabase from "./database/act_as_supabase.ts";
import type { ServeConfig } from "../app/serve.ts";
import { sqlitePathOf } from "./database/resolve_database_url.ts";
import { findConfiguration, loadConfiguration } from "./configuration_file.ts";

export interface PrepareServiceOptions {
  readonly runtime: Runtime;
  readonly token: string;
  readonly kv?: string;
  readonly isReread?: boolean;
}

export async function prepareService(
  command: ServeCommand,
  { runtime, token, kv, isReread }: PrepareServiceOptions,
): Promise<CliService> {
  const { database } = command;
  const path = command.config ?? (database === null ? await findConfiguration() : null);
  if (path !== null) {
    for (const [option, setting] of ownSettings) {
      if (!command[option]) continue;
      throw new Error(
        `Cannot serve ${path} with --${option}: a configuration has its own ${setting}`,
      );
    }
    const config = await loadConfiguration(path);
    return {
      config: await openDrizzleOfConfig(withPage({ runtime, ...config }, command), runtime),
      subject: path,
      rights: null,
      exampleQuery: "?limit=3",
    };
  }
  const rights = decideCliRights({
    host: addressOf(command, {}).host,
    public: command.public,
    // The demonstration is in memory, so writes need only the token, and no `--write`.
    writable: command.write || database === null,
    isProxied: (command.proxies?.abuseProtection?.trustProxy ?? 0) > 0 ||
      isInProduction(undefined, runtime),
  }, token);
  if (database === null) {
    const { serveDemonstration } = await import("./serve_demonstration.ts");
    return withOptions(await serveDemonstration(rights, runtime), command);
  }
  const { serveDatabase } = await import("./database/serve_database.ts");
  // The cast is safe: the module at that path exports this function.
  const acting = command.actAs === null
    ? null
    : (await import(supabaseModule) as typeof Supabase).actAsSupabase(runtime);
  const accountsIn = command.users ? command.kv ?? defaultStoreFile : undefined;
  const service = await serveDatabase(database, {
    ...{ runtime, kv, accountsIn, acting },
    // With `actAs`, the database's policies determine all rights, so there is no operator token.
    rights: acting === null ? rights : { ...rights, token: null, readsNeedToken: false },
    isSearched: command.search,
    schemas: command.schemas,
    keys: command.keys,
    isReread,
    additions: command.additions,
    functions: command.functions,
    recording: acting === null
      ? {
        triggers: command.triggers,
        schema: command.changesSchema,
        historyDays: command.historyDays,
      }
      : null,
  });
  return withOptions(service, command);
}

/** A variable, because Deno downloads the packages of a literal `import()` at every start. */
const supabaseModule = "./database/act_as_supabase.ts";

/** Options that are invalid with a configuration file, each with the setting to use instead. */
const ownSettings = [["search", "search"], ["public", "auth"], ["ui", "adminUI"]] as const;

function withPage<Config extends ServeConfig>(config: Config, { web }: ServeCommand): Config {
  if (web === null) return config;
  const others = typeof config.web === "object" ? config.web : {};
  return { ...config, web: { ...others, folder: web } };
}

function withOptions(service: CliService, command: ServeCommand): CliService {
  const { ui, users, proxies, database } = command;
  const readOnly = service.rights?.writable !== true;
  const roles = users
    ? { administer: ["administrator"], edit: ["operator"], read: ["viewer"] }
    : undefined;
  const requestLog = database === null ? true : { file: requestLogFile(database) };
  const dashboard = ui ? { adminUI: { readOnly, roles, requestLog }, observability: true } : {};
  const config = { ...service.config, ...dashboard, ...proxies };
  return { ...service, config: withPage(config, command) };
}

/** Returns a path next to the SQLite file, or in the working directory for another database. */
function requestLogFile(database: string): string {
  return `${sqlitePathOf(database) ?? "service"}-requests.sqlite`;
}

export function addressOf(
  command: ServeCommand,
  config: ListenOptions,
): { readonly host: string; readonly port: number } {
  const { host, port } = config;
  return readListenOptions({ host: command.host ?? host, port: command.port ?? port });
}
