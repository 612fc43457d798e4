import { type App, createApp } from "../../app/app.ts";
import type { OpenConfig } from "../../app/config.ts";
import { openDrizzleOfConfig } from "../../engines/drizzle/open_configured_database.ts";
import type { Runtime } from "../../runtime/runtime.ts";
import { systemRuntime } from "../../runtime/system_runtime.ts";
import { decideCliRights } from "../cli_service.ts";
import type { CheckCommand } from "../command_arguments.ts";
import { requireConfiguration } from "../configuration_file.ts";
import { printable } from "../printable.ts";
import { type Finding, productionFindings } from "./production_findings.ts";

/** Prints one line for each finding. Returns 1 if there are findings, and 0 for notices alone. */
export async function runCheckCommand(command: CheckCommand): Promise<number> {
  const findings = await checkService(command);
  const count = findings.filter(({ level }) => level === "finding").length;
  const lines = findings.map(({ level, message }) => printable(`${level}: ${message}`));
  const end = `${count === 0 ? "no" : count} finding${count === 1 ? "" : "s"}`;
  console.log(command.json ? JSON.stringify({ findings }) : [...lines, end].join("\n"));
  return count === 0 ? 0 : 1;
}

/**
 * Starts the app of a configuration or of a database without listening, and returns what is wrong.
 * Throws an Error if the app cannot start.
 */
export async function checkService(command: CheckCommand): Promise<readonly Finding[]> {
  const notices: string[] = [];
  const runtime = systemRuntime((observation) => {
    if (observation.kind === "notice") notices.push(observation.message);
  });
  const config = await configOf(command, runtime);
  const findings = command.production ? await productionFindings(config, runtime) : [];
  const { app, refusals } = await startStrictly(attemptsOf(config, command), runtime);
  const unavailable = (await unavailableParts(app)).map((name) => `${name} is not available`);
  await app.close();
  const messages = new Set([...refusals, ...notices, ...unavailable]);
  return [...findings, ...[...messages].map((message) => ({ level: "finding" as const, message }))];
}

/** Starts the first configuration that can start. Returns why those before it could not. */
async function startStrictly(
  [config, ...milder]: readonly OpenConfig[],
  runtime: Runtime,
): Promise<{ readonly app: App; readonly refusals: readonly string[] }> {
  if (config === undefined) throw new TypeError("There is no configuration");
  try {
    return { app: await createApp({ ...config, runtime: withSecrets(runtime) }), refusals: [] };
  } catch (error) {
    const isRefused = error instanceof Error && error.constructor === Error;
    if (!isRefused || milder.length === 0) throw error;
    const { app, refusals } = await startStrictly(milder, runtime);
    return { app, refusals: [error.message.replace(sample, madeUp), ...refusals] };
  }
}

async function configOf({ database, config }: CheckCommand, runtime: Runtime): Promise<OpenConfig> {
  if (database === null) {
    const hint = "name a database, or a configuration by --config";
    return await openDrizzleOfConfig(await requireConfiguration(config, hint), runtime);
  }
  const { serveDatabase } = await import("../database/serve_database.ts");
  const rights = decideCliRights({ host: "127.0.0.1", public: false, writable: false }, "");
  const { config: served } = await serveDatabase(database, {
    ...{ rights, runtime, kv: undefined, accountsIn: undefined, isSearched: false },
    ...{ schemas: null, recording: null },
  });
  return served;
}

/**
 * Returns the forms of a configuration, the strictest first: in production if the command asks for
 * it, and with a made-up user to try the scopes, if the configuration has no samples.
 */
function attemptsOf(config: OpenConfig, { production }: CheckCommand): readonly OpenConfig[] {
  const { samples = [] } = config.auth ?? {};
  const users = samples.length > 0 ? [samples] : [[{ id: "check" }], []];
  const environments = production ? ["production" as const, config.env] : [config.env];
  return environments.flatMap((env) =>
    users.map((samples) => ({
      ...{ ...config, env, health: true, middleware: [] },
      auth: { ...config.auth, samples },
    }))
  );
}

/** How an error names the made-up user, and how a finding does. */
const [sample, madeUp] = ["with sample 1", 'with the user {"id":"check"}'];

/** Missing secrets prevent no start here, because they are findings of their own. */
function withSecrets(runtime: Runtime): Runtime {
  const secret = runtime.random.bytes(32).toBase64();
  const isSecret = (name: string) => ["SERVICE_SECRET", "SERVICE_POW_SECRET"].includes(name);
  return {
    ...runtime,
    environment: (name) => runtime.environment(name) || (isSecret(name) ? secret : undefined),
  };
}

/** Returns the names of the database, the store and the search index that do not respond. */
async function unavailableParts(app: App): Promise<readonly string[]> {
  const response = await app.fetch(new Request("http://localhost/readyz"));
  const { checks = {} }: { checks?: Readonly<Record<string, { status: string }>> } = await response
    .json();
  return Object.entries(checks).flatMap(([name, { status }]) => status === "ok" ? [] : [name]);
}
