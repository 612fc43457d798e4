import { reserveDescriptors } from "./reserved_descriptors.ts";
import { type HealthListenerOptions, listenForHealth } from "./health_listener.ts";
import { sleep } from "../runtime/runtime.ts";

const maxAttempts = 10;
const listenAgainInMs = 10;

/**
 * Creates a listener that responds to `/healthz` after the main listener has failed, by means of
 * reserved file descriptors. It never listens without them.
 */
export function createFallbackListener(options: Omit<HealthListenerOptions, "maxWaiting">) {
  const reserve = reserveDescriptors();
  let listener: ReturnType<typeof listenForHealth> | null = null;
  let isStopped = false;

  /** Starts to listen. Returns null if the port is still in use by the failed listener. */
  async function listen() {
    for (let attempt = 0; reserve.size > 0 && attempt < maxAttempts && !isStopped; attempt++) {
      try {
        return listenForHealth({ ...options, maxWaiting: reserve.size / 2 });
      } catch {
        // The failure was already reported.
        await sleep(listenAgainInMs);
      }
    }
    return null;
  }

  async function close(): Promise<void> {
    const closing = listener?.close();
    listener = null;
    await closing;
  }

  return {
    /**
     * Responds to `/healthz` until descriptors are free again, at least for `retryInMs`. Open
     * connections remain, and their requests can use the reserved descriptors, too.
     */
    async serveUntilFree(retryInMs: number): Promise<void> {
      if (isStopped) return;
      reserve.release();
      do {
        listener ??= await listen();
        await sleep(retryInMs);
      } while (!isStopped && !reserve.take());
      await close();
    },
    stop(): void {
      isStopped = true;
      void close();
      reserve.release();
    },
  };
}
