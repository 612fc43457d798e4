import { platformOpenKv } from "../kv/deno_kv.ts";
import type { Clock } from "../runtime/runtime.ts";
import { hasAllPermissions } from "./all_permissions.ts";
import { onStopSignals } from "./stop_signals.ts";

/**
 * Runs this program again as a child with `--unstable-kv --unstable-cron` if Deno was started
 * without them, and returns its exit code. That is the case for a `program` from a URL, because
 * Deno finds `deno.json`, which sets the flags, only for local files. Returns null if the flags are
 * set or a permission is missing. Without the permission the store is in memory, with its warning.
 */
export async function restartWithKv(
  program: string,
  args: readonly string[],
): Promise<number | null> {
  if (platformOpenKv() !== undefined || !hasAllPermissions()) return null;
  // This process is the restarted one, and the flags had no effect.
  if (Deno.env.has(parentVariable)) return null;
  const child = new Deno.Command(Deno.execPath(), {
    args: ["run", "-A", "--unstable-kv", "--unstable-cron", program, ...args],
    env: { [parentVariable]: String(Deno.pid) },
    stdin: "inherit",
    stdout: "inherit",
    stderr: "inherit",
  }).spawn();
  const stopForwarding = onStopSignals((signal, reachedChildren) => {
    if (!reachedChildren) child.kill(signal);
  });
  const hangUp = () => child.kill("SIGHUP");
  // Windows has no such signal.
  if (Deno.build.os !== "windows") Deno.addSignalListener("SIGHUP", hangUp);
  const { code } = await child.status;
  stopForwarding();
  if (Deno.build.os !== "windows") Deno.removeSignalListener("SIGHUP", hangUp);
  return code;
}

/**
 * Stops this process when the parent that restarted it has ended, because nothing else would. Its
 * own children do not inherit the variable.
 */
export function exitWithParent(clock: Clock): void {
  const parent = Deno.env.get(parentVariable);
  if (parent === undefined) return;
  Deno.env.delete(parentVariable);
  (function poll(): void {
    if (String(Deno.ppid) === parent) clock.after(pollEveryMs, poll);
    else Deno.kill(Deno.pid, "SIGTERM");
  })();
}

/** The variable with the process id of the parent that restarted this process. */
const parentVariable = "SERVICE_RUN_AGAIN_BY";

const pollEveryMs = 500;
