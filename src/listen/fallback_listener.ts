import { holdDescriptors } from "./reserved_descriptors.ts";
import {
  type HealthListener,
  type HealthListenerOptions,
  listenForHealth,
} from "./health_listener.ts";
import { sleep } from "../runtime/event_loop.ts";

/** What takes the place of a listener that has failed, and holds descriptors for that from now on. */
export interface FallbackListener {
  /**
   * Answers `/healthz` until descriptors are free again, but at least for `retryInMs`. Open
   * connections remain, and what is requested on them may use the descriptors of the reserve, too.
   */
  serveUntilFree(retryInMs: number): Promise<void>;
  /** Closes everything. */
  stop(): void;
}

const maxAttempts = 10;
const listenAgainInMs = 10;

/** Makes a stand-in. Without a reserve it only waits. */
export function createFallbackListener(
  options: Omit<HealthListenerOptions, "maxWaiting">,
): FallbackListener {
  const reserve = holdDescriptors();
  let listener: HealthListener | null = null;
  let isStopped = false;

  /** Null if something else has taken the port; the listener that has failed soon lets it go. */
  async function listen(): Promise<HealthListener | null> {
    for (let attempt = 0; reserve.size > 0 && attempt < maxAttempts && !isStopped; attempt++) {
      try {
        return listenForHealth({ ...options, maxWaiting: reserve.size / 2 });
      } catch {
        // The failure of the listener itself has been observed.
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
