/** The processor time of processes, as Linux reports it. */

/**
 * Returns the user and system time of all threads of a process, in seconds, or null without such a
 * process.
 */
export function cpuSecondsOfProcess(pid: number): number | null {
  const stat = read(`/proc/${pid}/stat`);
  if (stat === null) return null;
  // The name of the process precedes these fields, and may contain spaces.
  const [user, system] = stat.split(") ")[1]?.split(" ").slice(11, 13).map(Number) ?? [];
  return ((user ?? 0) + (system ?? 0)) / ticksPerSecond;
}

/** Returns the processor time of a process and its running descendants, in seconds, or null. */
export function cpuSecondsOfTree(pid: number): number | null {
  const own = cpuSecondsOfProcess(pid);
  if (own === null) return null;
  return childrenOf(pid).reduce((sum, child) => sum + (cpuSecondsOfTree(child) ?? 0), own);
}

function childrenOf(pid: number): readonly number[] {
  // Each thread has its own children.
  return Array.from(Deno.readDirSync(`/proc/${pid}/task`))
    .flatMap(({ name }) => read(`/proc/${pid}/task/${name}/children`)?.match(/\d+/g) ?? [])
    .map(Number);
}

/** Returns the text of a file, or null if its process or thread has ended. */
function read(file: string): string | null {
  try {
    return Deno.readTextFileSync(file);
  } catch (error) {
    // If a process ends after its file was opened, the read fails with ESRCH.
    const hasEnded = error instanceof Deno.errors.NotFound ||
      String(error).includes("No such process");
    if (hasEnded) return null;
    throw error;
  }
}

/** Clock ticks per second, on every Linux that Deno supports. */
const ticksPerSecond = 100;
