import { databasesOfApp } from "../../app/app.ts";
import { platformOpenKv } from "../../kv/deno_kv.ts";
import type { ServeConfig } from "../../app/serve.ts";
import type { CliService } from "../cli_service.ts";

/** Throws a one-sentence Error if several workers would not share the configured stores. */
export function requireSharedState(config: CliService["config"]): void {
  for (const { isShared, label } of databasesOfApp(config)) {
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

/** Returns true if the store is in memory. Without the KV flag, Deno replaces files by memory. */
function isInMemory(kv: ServeConfig["kv"]): boolean {
  if (kv === undefined || kv === ":memory:") return true;
  return typeof kv === "string" && platformOpenKv() === undefined;
}
