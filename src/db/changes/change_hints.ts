import type { Clock } from "../../runtime/runtime.ts";
import type { Driver } from "../driver.ts";
import { type ChangeHints, engineOf, type PollingListener } from "../engine/engine.ts";

/** Calls listeners when the change log may have grown: after own commits, signals, and polls. */
export function changeHints(
  driver: Driver,
  clock: Clock,
  findUntracked: (() => Promise<void>) | null = null,
): ChangeHints {
  const listeners = new Set<() => void>();
  const notify = () => {
    for (const listener of listeners) listener();
  };
  const polling = driver.isShared ? createPolling(driver, clock, { notify, findUntracked }) : null;
  const channel = driver.signals?.listen((isAlone) => {
    if (isAlone) polling?.pollSoon();
    else polling?.speedUp();
    notify();
  }) ?? null;
  const signal = channel === null ? null : throttled(signalMs, clock, () => channel.send());
  const stopListening = driver.onCommit(() => {
    polling?.speedUp();
    signal?.run();
    notify();
  });
  return {
    add(listener) {
      // A separate function for each call, so that one listener can be added twice.
      const entry = () => listener();
      listeners.add(entry);
      polling?.start();
      return () => {
        listeners.delete(entry);
        if (listeners.size === 0) polling?.stop();
      };
    },
    async close() {
      stopListening();
      polling?.stop();
      signal?.cancel();
      listeners.clear();
      await channel?.close();
    },
  };
}

/** The interval in which all commits share one signal to other processes, in milliseconds. */
const signalMs = 5;

/** Milliseconds from a trigger's signal to a poll, which also finds commits without a signal. */
const soonMs = 10;

function createPolling(driver: Driver, clock: Clock, listener: PollingListener) {
  const { poll, minMs, maxMs } = engineOf(driver).changes.polling(driver, listener);
  let delayMs = minMs;
  let cancel: (() => void) | null = null;
  /** The number of the current series of polls. A poll of an earlier series schedules no others. */
  let round = 0;

  function schedule(): void {
    const started = round;
    cancel = clock.after(delayMs, async () => {
      const isNews = await poll();
      if (round !== started) return;
      delayMs = isNews ? minMs : Math.min(delayMs * 1.5, maxMs);
      schedule();
    });
  }

  return {
    start() {
      if (cancel === null) schedule();
    },
    /** Shortens the delays between polls after activity, except the current delay. */
    speedUp() {
      delayMs = minMs;
    },
    pollSoon() {
      if (cancel === null) return;
      round++;
      cancel();
      delayMs = soonMs;
      schedule();
    },
    stop() {
      round++;
      cancel?.();
      cancel = null;
    },
  };
}

/** Runs `work` immediately. Further calls within the interval cause only one run, at its end. */
function throttled(intervalMs: number, clock: Clock, work: () => void) {
  let cancelTimer: (() => void) | null = null;
  let isWanted = false;

  function runNow(): void {
    isWanted = false;
    work();
    cancelTimer = clock.after(intervalMs, () => {
      cancelTimer = null;
      if (isWanted) runNow();
    });
  }

  return {
    run() {
      if (cancelTimer === null) runNow();
      else isWanted = true;
    },
    cancel: () => cancelTimer?.(),
  };
}
