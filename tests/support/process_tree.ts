/** The processes that a process has started, and that have not ended. None without Linux. */
export function childrenOf(pid: number): readonly number[] {
  try {
    const text = Deno.readTextFileSync(`/proc/${pid}/task/${pid}/children`);
    return text.split(" ").filter((one) => one !== "").map(Number);
  } catch (error) {
    // A process that ends during the read is an ESRCH.
    const isGone = error instanceof Deno.errors.NotFound ||
      String(error).includes("No such process");
    if (isGone) return [];
    throw error;
  }
}

/** Sends a signal to a process. Does nothing if the process has ended. */
export function signalProcess(pid: number, signal: Deno.Signal): void {
  try {
    Deno.kill(pid, signal);
  } catch (error) {
    const isGone = error instanceof Deno.errors.NotFound ||
      String(error).includes("No such process");
    if (!isGone) throw error;
  }
}
