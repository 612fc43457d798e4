import { createApp } from "../../app/app.ts";
import type { AppConfig } from "../../app/config.ts";
import { consoleObserver } from "../../runtime/console_observer.ts";
import { systemRuntime } from "../../runtime/system_runtime.ts";
import { decideCliRights } from "../cli_rights.ts";
import { findConfiguration, loadConfiguration } from "../configuration_file.ts";
import { reportFailure } from "../report_failure.ts";
import { ProgressBar } from "./progress_bar.ts";
import type { SearchCommand } from "./search_arguments.ts";

/** Runs the command that indexes all rows again, and returns the exit code. */
export async function runSearchCommand(command: SearchCommand): Promise<number> {
  try {
    const app = await createApp(await configOf(command));
    const bar = new ProgressBar();
    try {
      await app.reindex({ onProgress: (progress) => bar.show(progress) });
    } finally {
      bar.end();
      await app.close();
    }
    if (bar.count > 0) return 0;
    throw new Error("There is nothing to index: no resource has a search index");
  } catch (error) {
    return reportFailure(error, 2);
  }
}

async function configOf(
  { database, config, schemas, additions }: SearchCommand,
): Promise<AppConfig> {
  const runtime = systemRuntime(consoleObserver());
  if (database === null) {
    const path = config ?? await findConfiguration();
    if (path === null) {
      throw new Error("There is no service.config.ts here: name a configuration or a database");
    }
    return { runtime, ...await loadConfiguration(path) };
  }
  const rights = decideCliRights({ host: "127.0.0.1", public: false, writable: true }, "");
  const { serveDatabase } = await import("../database/serve_database.ts");
  const { config: served } = await serveDatabase(database, {
    ...{ rights, runtime, kv: undefined, accountsIn: undefined },
    isSearched: true,
    ...{ schemas, additions },
    recording: null,
  });
  return {
    ...served,
    // The command encrypts nothing. A random secret only avoids the warning about a missing one.
    secret: runtime.random.bytes(32).toBase64(),
  };
}
