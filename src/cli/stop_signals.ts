/** A signal that stops a process and its children. */
export type StopSignal = "SIGTERM" | "SIGINT";

/**
 * Calls `stop` when this process must end. The second argument is true if the child processes have
 * received the signal too. Returns a function that removes the listeners.
 */
export function onStopSignals(
  stop: (signal: StopSignal, reachedChildren: boolean) => void,
): () => void {
  const terminate = () => stop("SIGTERM", false);
  // A terminal sends the interrupt to all processes of the group.
  const interrupt = () => stop("SIGINT", Deno.stdin.isTerminal());
  // A file watcher (`--watch`) ends the program, but not the process.
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
