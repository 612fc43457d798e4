/** A signal that stops a process and its children. */
export type StopSignal = "SIGTERM" | "SIGINT";

/**
 * Calls `stop` when this process must end. The arguments are the signal, and whether the children
 * have received it too. Returns the function that removes the listeners.
 */
export function onStopSignals(
  stop: (signal: StopSignal, reachedChildren: boolean) => void,
): () => void {
  const terminate = () => stop("SIGTERM", false);
  // A terminal interrupts all processes. A second signal means an immediate stop.
  const interrupt = () => stop("SIGINT", Deno.stdin.isTerminal());
  // A file watcher (`--watch`) ends the program, but not its process.
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
