import type { Clock } from "../runtime/runtime.ts";

/**
 * Runs this program once more, as a child with `--unstable-kv --unstable-cron`, where Deno was
 * started without them, and gives its exit code. That is so where `program` is loaded from a URL:
 * `deno.json`, which asks for them, is found beside local files only. Null where there is nothing
 * to gain or where it may not be done; then the store is in memory, and says so.
 */
export async function restartWithKv(
  program: string,
  args: readonly string[],
): Promise<number | null> {
  // The types promise it; without the flag it is not there.
  if (typeof Deno.openKv === "function" || !mayDoEverything()) return null;
  // Whoever started this one asked for the same, in vain.
  if (Deno.env.has(parentVariable)) return null;
  const child = new Deno.Command(Deno.execPath(), {
    args: ["run", "-A", "--unstable-kv", "--unstable-cron", program, ...args],
    env: { [parentVariable]: String(Deno.pid) },
    stdin: "inherit",
    stdout: "inherit",
    stderr: "inherit",
  }).spawn();
  const letGo = passOnSignals(child);
  const { code } = await child.status;
  letGo();
  return code;
}

/**
 * Stops this process when the one that ran it again is gone: nobody would stop it otherwise. Its
 * own children are none of that one's.
 */
export function exitWithParent(clock: Clock): void {
  const parent = Deno.env.get(parentVariable);
  if (parent === undefined) return;
  Deno.env.delete(parentVariable);
  (function look(): void {
    if (String(Deno.ppid) === parent) clock.after(lookEveryMs, look);
    else Deno.kill(Deno.pid, "SIGTERM");
  })();
}

/** Holds the id of the process that started this one again. */
const parentVariable = "SERVICE_RUN_AGAIN_BY";

const lookEveryMs = 500;

/** The child is given everything, so that it must be so here. */
function mayDoEverything(): boolean {
  return permissions.every((name) => {
    const { state, partial } = Deno.permissions.querySync({ name });
    return state === "granted" && !partial;
  });
}

const permissions = ["read", "write", "net", "env", "sys", "run", "ffi"] as const;

/** A terminal sends its interrupt to the child as well, who would take a second one for hurry. */
function passOnSignals(child: Deno.ChildProcess): () => void {
  const terminate = () => child.kill("SIGTERM");
  const interrupt = () => {
    if (!Deno.stdin.isTerminal()) child.kill("SIGINT");
  };
  // A watcher of files (`--watch`) ends the program, but not its process.
  globalThis.addEventListener("unload", terminate);
  Deno.addSignalListener("SIGINT", interrupt);
  if (hasTerminate) Deno.addSignalListener("SIGTERM", terminate);
  return () => {
    globalThis.removeEventListener("unload", terminate);
    Deno.removeSignalListener("SIGINT", interrupt);
    if (hasTerminate) Deno.removeSignalListener("SIGTERM", terminate);
  };
}

const hasTerminate = Deno.build.os !== "windows";
