import { reserveDescriptors } from "./reserved_descriptors.ts";
import {
  type HealthListener,
  type HealthListenerOptions,
  listenForHealth,
} from "./health_listener.ts";
import { sleep } from "../runtime/event_loop.ts";

/** Responds to `/healthz` after the listener has failed, by means of reserved file descriptors. */
export interface FallbackListener {
  /**
   * Responds to `/healthz` until descriptors are free again, at least for `retryInMs`. Open
   * connections remain, and their requests can use the reserved descriptors, too.
   */
  serveUntilFree(retryInMs: number): Promise<void>;
  /** Closes all connections and descriptors. */
  stop(): void;
}

const maxAttempts = 10;
const listenAgainInMs = 10;

/** Creates a fallback listener, which never listens without reserved descriptors. */
export function createFallbackListener(
  options: Omit<HealthListenerOptions, "maxWaiting">,
): FallbackListener {
  const reserve = reserveDescriptors();
  let listener: HealthListener | null = null;
  let isStopped = false;

  /** Starts to listen; null if the port is still in use by the failed listener. */
  async function listen(): Promise<HealthListener | null> {
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
