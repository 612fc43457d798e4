/** The processes of the benchmark: each ends with it, also when a signal ends it. */

/** A child process that prints its progress in lines on the standard output. */
export interface Process extends AsyncDisposable {
  readonly pid: number;
  /** Returns the next line, or null once the process has ended. */
  nextLine(): Promise<string | null>;
  /** Returns true if the process is still running. */
  isAlive(): boolean;
}

export interface ProcessOptions {
  /** Flags of V8, for example `--max-old-space-size=1024`. */
  readonly v8Flags?: string;
  /** True to run with low priority, so that the child takes no time from the measured processes. */
  readonly isNice?: boolean;
  /** The limit of file descriptors. */
  readonly descriptors?: number;
  /** True to show the child's standard error. */
  readonly isVerbose?: boolean;
}

const running = new Set<Deno.ChildProcess>();

/** Kills the child when {@link onSignal} ends the benchmark. */
export function endOnSignal(child: Deno.ChildProcess): void {
  running.add(child);
  child.status.then(() => running.delete(child));
}

/** Starts a script of this folder. */
export function startProcess(
  script: string,
  args: readonly string[],
  { v8Flags, isNice = false, descriptors, isVerbose = false }: ProcessOptions = {},
): Process {
  const flags = v8Flags === undefined ? [] : [`--v8-flags=${v8Flags}`];
  const file = new URL(script, import.meta.url).pathname;
  const limit = descriptors === undefined ? "" : `ulimit -n ${descriptors}; `;
  const child = new Deno.Command("sh", {
    args: [
      ...["-c", `${limit}exec ${isNice ? "nice -n 19 " : ""}"$@"`, "sh"],
      ...[Deno.execPath(), "run", "-A", "--quiet", ...flags, file, ...args],
    ],
    stdin: "null",
    stdout: "piped",
    stderr: isVerbose ? "inherit" : "null",
  }).spawn();
  endOnSignal(child);
  let isAlive = true;
  child.status.then(() => isAlive = false);
  const reader = child.stdout.pipeThrough(new TextDecoderStream()).getReader();
  let unread = "";
  return {
    pid: child.pid,
    isAlive: () => isAlive,
    async nextLine() {
      while (!unread.includes("\n")) {
        const { value } = await reader.read();
        if (value === undefined) return null;
        unread += value;
      }
      const end = unread.indexOf("\n");
      const line = unread.slice(0, end);
      unread = unread.slice(end + 1);
      return line;
    },
    async [Symbol.asyncDispose]() {
      // A busy service cannot handle a SIGTERM.
      if (isAlive) child.kill("SIGKILL");
      await child.status;
      await reader.cancel();
    },
  };
}

/** Ends all children and calls `work` when this process receives a signal to stop. */
export function onSignal(work: () => void | Promise<void>): void {
  for (const signal of ["SIGINT", "SIGTERM"] as const) {
    Deno.addSignalListener(signal, async () => {
      for (const child of running) child.kill("SIGKILL");
      await work();
      Deno.exit(130);
    });
  }
}

/** Returns the peak or current resident memory of a process in MB, or 0 once it has ended. */
export async function residentMb(pid: number, which: "peak" | "now"): Promise<number> {
  const status = await Deno.readTextFile(`/proc/${pid}/status`).catch(() => "");
  const name = which === "peak" ? "VmHWM" : "VmRSS";
  return Number(new RegExp(`^${name}:\\s+(\\d+) kB$`, "m").exec(status)?.[1] ?? 0) / 1_000;
}
