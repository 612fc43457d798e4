import { parseEnv } from "node:util";
import { consoleObserver } from "../../runtime/console_observer.ts";
import { systemRuntime } from "../../runtime/system_runtime.ts";
import { findConfiguration } from "../configuration_file.ts";
import { pathExists } from "../path_exists.ts";
import { onHangUp, onStopSignals } from "../../listen/stop_signals.ts";
import type { DevCommand } from "../init/init_arguments.ts";
import { unstableFlags } from "../restart_with_kv.ts";
import { startPage } from "./page_process.ts";
import { serveInDevelopment } from "./serve_in_development.ts";

/** Serves a configuration in a child process, which Deno restarts at each save, and runs Vite. */
export async function runDevCommand(
  command: DevCommand,
  { url, version }: Readonly<Record<"url" | "version", string>>,
): Promise<number> {
  const path = command.config ?? await findConfiguration();
  if (path === null) {
    throw new Error("There is no service.config.ts here: init writes a project that has one");
  }
  const folder = command.web ?? (await pathExists("web/package.json") ? "web" : null);
  const parent = Deno.env.get(parentVariable);
  const { clock, random } = systemRuntime(consoleObserver());
  await prepareSettings(random.bytes(32).toBase64());
  if (parent !== undefined) {
    const page = { folder, url: Deno.env.get(pageVariable) || null };
    return await serveInDevelopment(path, page, { version, parent });
  }
  const page = folder === null ? null : await startPage(folder, clock);
  const flags = [
    ...(await pathExists("deno.json") ? ["--config", "deno.json"] : []),
    ...(await pathExists(settingsFile) ? [`--env-file=${settingsFile}`] : []),
  ];
  const service = new Deno.Command(Deno.execPath(), {
    args: [
      ...["run", "-A", "--watch", "--no-clear-screen", ...unstableFlags],
      ...[...flags, url, "dev", "--config", path],
      ...(folder === null ? [] : ["--web", folder]),
    ],
    env: { [parentVariable]: String(Deno.pid), [pageVariable]: page?.url ?? "" },
    stdin: "null",
  }).spawn();
  let isStopping = false;
  const stop = (reachedChildren: boolean) => {
    isStopping = true;
    // A process that runs with `--watch` ends only at a SIGINT.
    if (!reachedChildren) service.kill("SIGINT");
  };
  const release = onStopSignals((_signal, reachedChildren) => stop(reachedChildren));
  // The SIGHUP of a closed terminal stops the service and Vite, too.
  const releaseHangUp = onHangUp(() => stop(false), () => stop(false));
  const { code } = await service.status;
  release();
  releaseHangUp();
  page?.stop();
  return isStopping ? 0 : code;
}

const [parentVariable, pageVariable] = ["SERVICE_DEV_PARENT", "SERVICE_DEV_PAGE"] as const;

const settingsFile = ".env";

/** Refuses production, and adds a secret to `.env` if there is none. */
async function prepareSettings(secret: string): Promise<void> {
  const text = await pathExists(settingsFile) ? await Deno.readTextFile(settingsFile) : "";
  const settings = { ...parseEnv(text), ...Deno.env.toObject() };
  if (settings["SERVICE_ENV"] === "production") {
    throw new Error("Cannot run dev with SERVICE_ENV=production: it changes tables without asking");
  }
  if (settings["SERVICE_SECRET"]) return;
  const line = `${text === "" || text.endsWith("\n") ? "" : "\n"}SERVICE_SECRET=${secret}\n`;
  // If a file sets a variable twice, the last value counts, so the line can be appended.
  await Deno.writeTextFile(settingsFile, line, { append: true, mode: 0o600 });
  console.log(`Added a random SERVICE_SECRET to ${settingsFile}: do not commit this file`);
}
