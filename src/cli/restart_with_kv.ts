import { findDenoOpenKv } from "../kv/deno_kv.ts";
import type { Clock } from "../runtime/runtime.ts";
import { onHangUp, onStopSignals } from "../listen/stop_signals.ts";

/**
 * Runs this program again in a child process with {@link unstableFlags}, which Deno reads from
 * `deno.json` only for local programs. Returns the child's exit code, or null if this process has
 * the flags or lacks a permission.
 */
export async function restartWithKv(
  program: string,
  args: readonly string[],
): Promise<number | null> {
  if (findDenoOpenKv() !== undefined || !hasAllPermissions()) return null;
  // This process is already the child, but the flags had no effect.
  if (Deno.env.has(parentVariable)) return null;
  const child = new Deno.Command(Deno.execPath(), {
    args: ["run", "-A", ...unstableFlags, program, ...args],
    env: { [parentVariable]: String(Deno.pid) },
    stdin: "inherit",
    stdout: "inherit",
    stderr: "inherit",
  }).spawn();
  const stopForwarding = onStopSignals((signal, reachedChildren) => {
    if (!reachedChildren) child.kill(signal);
  });
  const hangUp = () => child.kill("SIGHUP");
  const stopHangUp = onHangUp(hangUp, hangUp);
  const { code } = await child.status;
  stopForwarding();
  stopHangUp();
  return code;
}

/**
 * Without the last flag, Deno would abort a request's signal even after the response was sent, and
 * each process that reads such a signal would print a warning.
 */
export const unstableFlags = [
  "--unstable-kv",
  "--unstable-cron",
  "--unstable-no-legacy-abort",
] as const;

/** Sends the signal `end` to this process when its parent (the process `pid`) has ended. */
export function exitWithParent(clock: Clock, pid?: string, end: Deno.Signal = "SIGTERM"): void {
  const parent = pid ?? Deno.env.get(parentVariable);
  if (parent === undefined) return;
  // Children of this process must not inherit the variable.
  Deno.env.delete(parentVariable);
  (function poll(): void {
    if (String(Deno.ppid) === parent) clock.after(pollEveryMs, poll);
    else Deno.kill(Deno.pid, end);
  })();
}

/** The environment variable with the process id of the parent that ran {@link restartWithKv}. */
const parentVariable = "SERVICE_RUN_AGAIN_BY";

const pollEveryMs = 500;

export function hasAllPermissions(): boolean {
  return permissions.every((name) => {
    const { state, partial } = Deno.permissions.querySync({ name });
    return state === "granted" && !partial;
  });
}

const permissions = ["read", "write", "net", "env", "sys", "run", "ffi"] as const;
