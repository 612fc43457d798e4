import { type App, createApp } from "../../app/app.ts";
import type { OpenConfig } from "../../app/config.ts";
import type { Runtime } from "../../runtime/runtime.ts";
import { systemRuntime } from "../../runtime/system_runtime.ts";
import { configurationName } from "../configuration_file.ts";
import { prepareService } from "../prepare_service.ts";
import { printable } from "../printable.ts";
import type { CheckCommand } from "../serve_arguments.ts";
import { type Finding, productionFindings } from "./production_findings.ts";
import { forbiddenWrites } from "./forbidden_writes.ts";

/** Prints one line for each finding. Returns 1 if there are findings, and 0 for notices alone. */
export async function runCheckCommand(command: CheckCommand): Promise<number> {
  const findings = await checkService(command);
  const count = findings.filter(({ level }) => level === "finding").length;
  const lines = findings.map(({ level, message }) => printable(`${level}: ${message}`));
  const end = `${count === 0 ? "no" : count} finding${count === 1 ? "" : "s"}`;
  console.log(command.json ? JSON.stringify({ findings }) : [...lines, end].join("\n"));
  return count === 0 ? 0 : 1;
}

/** Starts the app without listening, and returns what is wrong. Throws if it cannot start. */
export async function checkService(command: CheckCommand): Promise<readonly Finding[]> {
  const notices: string[] = [];
  const runtime = systemRuntime((observation) => {
    if (observation.kind === "notice") notices.push(observation.message);
  });
  const { start, production } = command;
  // A configuration is required: without one, the service would serve its demonstration.
  const path = start.config ?? (start.database === null ? configurationName : null);
  const { config } = await prepareService({ ...start, config: path }, { runtime, token: "check" });
  const findings = production ? await productionFindings(config, runtime) : [];
  const { app, refusals } = await startStrictly(attemptsOf(config, production), runtime);
  const unavailable = (await unavailableParts(app)).map((name) =>
    `the ${name} does not respond: start the ${name}, or correct its address`
  );
  // With `actAs`, statements run as the caller's role, so the service's own role is not tested.
  const isTried = unavailable.length === 0 && config.actAs === undefined;
  const forbidden = isTried ? await forbiddenWrites(config) : [];
  await app.close();
  // Notices are findings only with a configuration, whose declared tables can differ.
  const level = start.database === null ? "finding" : "notice";
  return [
    ...findings,
    ...[...new Set(refusals), ...unavailable, ...forbidden].map((message) => ({
      level: "finding" as const,
      message,
    })),
    ...[...new Set(notices)].map((message) => ({ level, message }) as const),
  ];
}

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
    const message = config.auth?.samples?.[0] === madeUp
      ? error.message.replace("with sample 1", `with the user ${JSON.stringify(madeUp)}`)
      : error.message;
    return { app, refusals: [message, ...refusals] };
  }
}

/** Returns the configurations with which the check tries to start the app, the strictest first. */
function attemptsOf(config: OpenConfig, production?: boolean): readonly OpenConfig[] {
  const { samples = [] } = config.auth ?? {};
  const users = samples.length > 0 ? [samples] : [[madeUp], []];
  const environments = production ? ["production" as const, config.env] : [config.env];
  return environments.flatMap((env) =>
    users.map((samples) => ({
      ...{ ...config, env, health: true, middleware: [] },
      auth: { ...config.auth, samples },
    }))
  );
}

const madeUp = { id: "check" };

/** Sets missing secrets, so that the app starts. The check reports each one as a finding. */
function withSecrets(runtime: Runtime): Runtime {
  const secret = runtime.random.bytes(32).toBase64();
  const isSecret = (name: string) => ["SERVICE_SECRET", "SERVICE_POW_SECRET"].includes(name);
  return {
    ...runtime,
    environment: (name) => runtime.environment(name) || (isSecret(name) ? secret : undefined),
  };
}

async function unavailableParts(app: App): Promise<readonly string[]> {
  const response = await app.fetch(new Request("http://localhost/readyz"));
  const { checks = {} }: { checks?: Readonly<Record<string, { status: string }>> } = await response
    .json();
  return Object.entries(checks).flatMap(([name, { status }]) => status === "ok" ? [] : [name]);
}
