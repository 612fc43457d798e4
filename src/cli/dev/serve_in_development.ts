import { fileURLToPath, pathToFileURL } from "node:url";
import { stripVTControlCharacters } from "node:util";
import { type App, createApp } from "../../app/app.ts";
import { serveApp } from "../../app/serve.ts";
import { openDrizzleOfConfig } from "../../engines/drizzle/open_configured_database.ts";
import { writeApiTypes } from "../../openapi/api_types.ts";
import { consoleObserver } from "../../runtime/console_observer.ts";
import type { Clock } from "../../runtime/runtime.ts";
import { systemRuntime } from "../../runtime/system_runtime.ts";
import { loadConfiguration, placeInUserCode } from "../configuration_file.ts";
import { pathExists } from "../path_exists.ts";
import { printableLines } from "../printable.ts";
import { exitWithParent } from "../restart_with_kv.ts";
import { addTables } from "./add_tables.ts";

/** Serves until a restart or a stop. After a failure, waits until Deno restarts the process. */
export async function serveInDevelopment(
  path: string,
  page: Readonly<Record<"folder" | "url", string | null>>,
  { version, parent }: Readonly<Record<"version" | "parent", string>>,
): Promise<number> {
  const runtime = systemRuntime(consoleObserver());
  try {
    exitWithParent(runtime.clock, parent, "SIGINT");
    const loaded = { runtime, ...await loadConfiguration(path) };
    const { web, ...config } = await openDrizzleOfConfig(loaded, runtime);
    await addTables(config, runtime);
    const own = typeof web === "object" ? web : { folder: web ?? `${page.folder}/dist` };
    const app = await createApp({ ...config, web: page.url ? { ...own, dev: page.url } : web });
    if (page.folder !== null) await writeTypes(app, page.folder);
    const server = await serveApp(app, {
      ...config,
      drainMs: 0,
      onListen({ port }) {
        const url = `http://localhost:${port}`;
        console.log(`resource-api ${version}: serving ${path}`);
        if (page.url) console.log(`  ${url}/   the page`);
        console.log(`  ${url}${config.basePath ?? "/api"}/   all resources`);
      },
    }, runtime);
    await server.finished;
    return 0;
  } catch (error) {
    console.error(`${printableLines(describeFault(error))}\nSave a file to start again.`);
    const module = missingModule(error);
    if (module !== null) void restartWith(module, path, runtime.clock);
    // Keeps running, so that `exitWithParent` can notice the end of the parent process.
    const { promise, resolve } = Promise.withResolvers<void>();
    for (const signal of ["SIGINT", "SIGTERM"] as const) Deno.addSignalListener(signal, resolve);
    await promise;
    return 1;
  }
}

function missingModule(error: unknown): string | null {
  const [, url] = /Module not found "(file:[^"]+)"/.exec(String(error)) ?? [];
  return url === undefined ? null : fileURLToPath(url);
}

/** Lets Deno restart this process when a missing module exists, which Deno does not watch. */
async function restartWith(module: string, configuration: string, clock: Clock): Promise<void> {
  while (!await pathExists(module)) {
    await new Promise<void>((resolve) => clock.after(200, resolve));
  }
  // Deno watches the configuration. A new modification time counts as a save of the file.
  const seconds = clock.now() / 1_000;
  await Deno.utime(configuration, seconds, seconds);
}

/** Writes the types of the service into the page if they differ: a write reloads the page. */
async function writeTypes(app: App, folder: string): Promise<void> {
  const place = `${folder}${await pathExists(`${folder}/src`) ? "/src" : ""}/api.d.ts`;
  const text = writeApiTypes(app.schema());
  if (await pathExists(place) && await Deno.readTextFile(place) === text) return;
  const draft = `${place}.${Deno.pid}`;
  await Deno.writeTextFile(draft, text);
  await Deno.rename(draft, place);
  console.log(`Written: ${place}`);
}

/** Returns the message of an error, with the first position that is in the user's code. */
function describeFault(error: unknown): string {
  if (!(error instanceof Error)) return Deno.inspect(error);
  const here = `${pathToFileURL(Deno.cwd()).href}/`;
  const isPortTaken = error.message.endsWith("the port is taken");
  const hint = isPortTaken ? "; stop the other program, or change the port" : "";
  const message = stripVTControlCharacters(error.message).replaceAll(here, "") + hint;
  const stacks = [error, error.cause].map((one) => one instanceof Error ? one.stack ?? "" : "");
  const frame = placeInUserCode(stacks.reverse().join("\n"))?.replace(here, "");
  return frame === undefined || message.includes(frame) ? message : `${message}\n    at ${frame}`;
}
