import { randomDelayBetween, type Runtime } from "../runtime/runtime.ts";

/** Repeats `work` at random intervals until the returned function is called. Reports errors. */
export function repeatUpkeep(
  runtime: Runtime,
  intervalMs: number,
  work: () => Promise<void>,
): () => void {
  let isStopped = false;
  let cancel = () => {};
  const wait = () => {
    cancel = runtime.clock.after(
      randomDelayBetween(runtime, 0.6 * intervalMs, intervalMs),
      async () => {
        await work().catch((error) => {
          if (!isStopped) runtime.observe({ kind: "live_upkeep_failed", error });
        });
        if (!isStopped) wait();
      },
    );
  };
  wait();
  return () => {
    isStopped = true;
    cancel();
  };
}
