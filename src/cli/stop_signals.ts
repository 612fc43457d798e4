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

/**
 * Calls `hangUp` for each SIGHUP signal, or `close` if the signal means that the terminal was
 * closed. Returns a function that removes the listener.
 */
export function onHangUp(hangUp: () => void, close: () => void): () => void {
  // Windows has no SIGHUP signal.
  if (Deno.build.os === "windows") return () => {};
  const hadTerminal = Deno.stdin.isTerminal();
  const listener = () => {
    // A closing terminal sends SIGHUP to all its processes.
    if (hadTerminal && !Deno.stdin.isTerminal()) close();
    else hangUp();
  };
  Deno.addSignalListener("SIGHUP", listener);
  return () => Deno.removeSignalListener("SIGHUP", listener);
}
