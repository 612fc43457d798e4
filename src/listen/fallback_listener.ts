import { reserveDescriptors } from "./reserved_descriptors.ts";
import {
  type HealthListener,
  type HealthListenerOptions,
  listenForHealth,
} from "./health_listener.ts";
import { sleep } from "../runtime/event_loop.ts";

/** Serves `/healthz` after a listener has failed, with file descriptors held in reserve. */
export interface FallbackListener {
  /**
   * Responds to `/healthz` until descriptors are free again, at least for `retryInMs`. Open
   * connections remain, and their requests may use reserved descriptors too.
   */
  serveUntilFree(retryInMs: number): Promise<void>;
  /** Closes all connections and descriptors. */
  stop(): void;
}

const maxAttempts = 10;
const listenAgainInMs = 10;

/** Creates a fallback listener. Without reserved descriptors, it never listens. */
export function createFallbackListener(
  options: Omit<HealthListenerOptions, "maxWaiting">,
): FallbackListener {
  const reserve = reserveDescriptors();
  let listener: HealthListener | null = null;
  let isStopped = false;

  /** Starts the listener, or returns null if the failed listener does not release the port. */
  async function listen(): Promise<HealthListener | null> {
    for (let attempt = 0; reserve.size > 0 && attempt < maxAttempts && !isStopped; attempt++) {
      try {
        return listenForHealth({ ...options, maxWaiting: reserve.size / 2 });
      } catch {
        // The failure of the listener has already been reported.
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
    async serveUntilFree(retryInMs) {
      if (isStopped) return;
      reserve.release();
      do {
        listener ??= await listen();
        await sleep(retryInMs);
      } while (!isStopped && !reserve.take());
      await close();
    },
    stop() {
      isStopped = true;
      void close();
      reserve.release();
    },
  };
}
