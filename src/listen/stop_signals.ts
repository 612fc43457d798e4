export type StopSignal = "SIGTERM" | "SIGINT";

/** Calls `stop` at SIGTERM or SIGINT. `reachedChildren` is true if child processes got it, too. */
export function onStopSignals(
  stop: (signal: StopSignal, reachedChildren: boolean) => void,
): () => void {
  const terminate = () => stop("SIGTERM", false);
  // A terminal sends SIGINT to all processes of its group, so child processes receive it, too.
  const interrupt = () => stop("SIGINT", Deno.stdin.isTerminal());
  // With `--watch`, a changed file restarts the program in the same process, without a signal.
  globalThis.addEventListener("unload", terminate);
  Deno.addSignalListener("SIGINT", interrupt);
  if (!isWindows()) Deno.addSignalListener("SIGTERM", terminate);
  return () => {
    globalThis.removeEventListener("unload", terminate);
    Deno.removeSignalListener("SIGINT", interrupt);
    if (!isWindows()) Deno.removeSignalListener("SIGTERM", terminate);
  };
}

/** Windows has neither SIGTERM nor SIGHUP. */
function isWindows(): boolean {
  return Deno.build.os === "windows";
}

export function onHangUp(hangUp: () => void, close: () => void): () => void {
  if (isWindows()) return () => {};
  const hadTerminal = Deno.stdin.isTerminal();
  const listener = () => {
    // A SIGHUP can also mean that the terminal was closed: then this process has no terminal.
    if (hadTerminal && !Deno.stdin.isTerminal()) close();
    else hangUp();
  };
  Deno.addSignalListener("SIGHUP", listener);
  return () => Deno.removeSignalListener("SIGHUP", listener);
}
