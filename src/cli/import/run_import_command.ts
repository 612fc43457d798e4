import { createReadStream } from "node:fs";
import process from "node:process";
import { createApp } from "../../app/app.ts";
import type { AppConfig } from "../../app/config.ts";
import { Problem } from "../../problem/problem.ts";
import { consoleObserver } from "../../runtime/console_observer.ts";
import { systemRuntime } from "../../runtime/system_runtime.ts";
import type { Runtime } from "../../runtime/runtime.ts";
import { decideCliRights } from "../cli_rights.ts";
import { findConfiguration, loadConfiguration } from "../configuration_file.ts";
import { pathExists } from "../path_exists.ts";
import { reportFailure } from "../report_failure.ts";
import type { ImportCommand } from "./import_arguments.ts";
import { ImportProgress } from "./import_progress.ts";

/** Runs the command that imports a file, and returns the exit code. */
export async function runImportCommand(command: ImportCommand): Promise<number> {
  const runtime = systemRuntime(consoleObserver());
  try {
    const { file, format, into, chunk, dryRun } = command;
    const isAtHand = file !== "-";
    if (isAtHand && !await pathExists(file)) {
      throw new Error(`Cannot read ${file}: there is no such file`);
    }
    const app = await createApp(await configOf(command, runtime));
    const progress = new ImportProgress(runtime.clock);
    try {
      const outcome = await app.import(into, {
        open: () => isAtHand ? createReadStream(file, { highWaterMark: readBytes }) : process.stdin,
        ...{ format, isAtHand, isAlone: true, dryRun, chunk: chunk ?? undefined },
        onProgress: (counts) => progress.show(counts),
      });
      progress.end();
      console.error(progress.done(outcome, dryRun));
      return 0;
    } catch (error) {
      progress.end();
      if (!(error instanceof Problem)) throw error;
      reportLines(error);
      return 1;
    } finally {
      await app.close();
    }
  } catch (error) {
    return reportFailure(error, 2);
  }
}

const readBytes = 256 * 1024;

/** Prints the errors by line, the lines that were not written, and the number of written rows. */
function reportLines({ message, details = {} }: Problem): void {
  const { errors, unwritten, rows, written } = details;
  const named = Array.isArray(errors) ? errors : [];
  if (named.length === 0) console.error(printable(message));
  for (const { line, path, message } of named) {
    const place = [line === undefined ? "" : `line ${line}`, path].filter((part) => part !== "");
    console.error(printable(`${place.join(", ")}: ${message}`));
  }
  for (const { from, to } of Array.isArray(unwritten) ? unwritten : []) {
    console.error(`not written: lines ${from} to ${to ?? "the end"}`);
  }
  if (rows !== undefined) console.error(`${written} of ${rows} rows written`);
}

/** Removes control characters, because names and values in the file could rewrite the terminal. */
function printable(text: string): string {
  return text.replace(/\p{Cc}/gu, "\ufffd");
}

async function configOf(
  { database, config, schemas, additions }: ImportCommand,
  runtime: Runtime,
): Promise<AppConfig> {
  if (database === null) {
    const path = config ?? await findConfiguration();
    if (path === null) {
      throw new Error("There is no service.config.ts here: name a database by --db, or --config");
    }
    return { runtime, ...await loadConfiguration(path) };
  }
  const rights = decideCliRights({ host: "127.0.0.1", public: false, writable: true }, "");
  const { serveDatabase } = await import("../database/serve_database.ts");
  const { config: served } = await serveDatabase(database, {
    ...{ rights, runtime, kv: undefined, accountsIn: undefined },
    isSearched: false,
    ...{ schemas, additions },
    recording: null,
  });
  return {
    ...served,
    // An import encrypts nothing, so a random secret only avoids the warning about a missing one.
    secret: runtime.random.bytes(32).toBase64(),
  };
}
