import { driversOf } from "../../app.ts";
import { platformOpenKv } from "../../kv/deno_kv.ts";
import { isInProduction } from "../../runtime/production.ts";
import { isRandomSecret } from "../../runtime/resolve_secrets.ts";
import type { Runtime } from "../../runtime/runtime.ts";
import type { ServeConfig } from "../../serve.ts";
import type { WorkerShare } from "./worker_share.ts";

/** Throws an Error of one sentence where each of several workers would have a state of its own. */
export function requireSharedState(config: ServeConfig): void {
  for (const { isShared, label } of driversOf(config)) {
    if (isShared) continue;
    throw new Error(
      `Cannot start several workers on ${label}: it belongs to one process (use a SQLite file or ` +
        "Postgres, or --workers 1)",
    );
  }
  if (isInMemory(config.kv)) {
    throw new Error(
      "Cannot start several workers with the key-value store in memory: each would count requests " +
        'and know keys by itself (set kv: "service.kv" for a file, or use --workers 1)',
    );
  }
}

/** Also where Deno runs without the flag that a path or a URL needs: the memory takes their place. */
function isInMemory(kv: ServeConfig["kv"]): boolean {
  if (kv === undefined || kv === ":memory:") return true;
  return typeof kv === "string" && platformOpenKv() === undefined;
}

/**
 * The configuration of a worker in development, where secrets that are set nowhere are random: here
 * they are the same in every worker. In production they are missing, and the start fails.
 */
export function withSharedSecrets(
  config: ServeConfig,
  share: WorkerShare,
  runtime: Runtime,
): ServeConfig {
  const { environment, observe } = runtime;
  if (isInProduction(config.env, runtime)) return config;
  if (
    share.number === 1 && isRandomSecret({ given: config.secret, variable: secrets[0] }, runtime)
  ) {
    const message = `no secret is set: cursors end with these workers (set ${secrets[0]})`;
    observe({ kind: "notice", message });
  }
  return {
    ...config,
    runtime: {
      ...runtime,
      // An empty variable is how many shells unset one.
      environment: (name) =>
        environment(name) || (secrets.includes(name) ? `${name} ${share.secret}` : undefined),
    },
  };
}

const secrets: readonly [string, string] = ["SERVICE_SECRET", "SERVICE_POW_SECRET"];
