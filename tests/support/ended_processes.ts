/** The processor time of the child processes that have ended. */
export interface EndedProcesses {
  /** Seconds since the last call; 0 where the system is not Linux. */
  seconds(): Promise<number>;
}

/** Counts the children of this process and their children from now on. */
export function endedProcesses(): EndedProcesses {
  let counted = 0;
  return {
    async seconds() {
      const total = await secondsOfChildren();
      const used = total - counted;
      counted = total;
      return used;
    },
  };
}

/** The fields `cutime` and `cstime` of proc(5). */
async function secondsOfChildren(): Promise<number> {
  const stat = await Deno.readTextFile("/proc/self/stat").catch(() => "");
  const fields = stat.slice(stat.lastIndexOf(")") + 2).split(" ");
  const ticksPerSecond = 100;
  return (Number(fields[13] ?? 0) + Number(fields[14] ?? 0)) / ticksPerSecond;
}
