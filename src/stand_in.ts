import { holdDescriptors } from "./descriptor_reserve.ts";
import {
  type HealthListener,
  type HealthListenerOptions,
  listenForHealth,
} from "./health_listener.ts";
import { sleep } from "./runtime/event_loop.ts";

/** What takes the place of a listener that has failed, and holds descriptors for that from now on. */
export interface StandIn {
  /**
   * Answers `/healthz` until descriptors are free again, but at least for `retryInMs`. Open
   * connections remain, and what is requested on them may use the descriptors of the reserve, too.
   */
  serveUntilFree(retryInMs: number): Promise<void>;
  /** Closes everything. */
  stop(): void;
}

/** Makes a stand-in. Without a reserve it only waits. */
export function createStandIn(options: Omit<HealthListenerOptions, "maxWaiting">): StandIn {
  const reserve = holdDescriptors();
  let listener: HealthListener | null = null;
  let isStopped = false;

  /** Null where something else has taken the port. */
  function listen(): HealthListener | null {
    if (reserve.size === 0) return null;
    try {
      return listenForHealth({ ...options, maxWaiting: reserve.size / 2 });
    } catch {
      // The next attempt follows soon; the failure of the listener itself has been observed.
      return null;
    }
  }

  function close(): void {
    listener?.close();
    listener = null;
  }

  return {
    async serveUntilFree(retryInMs) {
      if (isStopped) return;
      reserve.release();
      do {
        listener ??= listen();
        await sleep(retryInMs);
      } while (!isStopped && !reserve.take());
      close();
    },
    stop() {
      isStopped = true;
      close();
      reserve.release();
    },
  };
}
