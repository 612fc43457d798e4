import { recovered } from "../../runtime/maybe_promise.ts";
import type { Clock } from "../../runtime/runtime.ts";
import type { Driver } from "../driver.ts";

/**
 * Hints that the change log may have something new, for its readers. A read after a hint may find
 * nothing.
 */
export interface ChangeHints {
  /** Calls `listener` at every hint; the function that it returns removes it. */
  add(listener: () => void): () => void;
  /** Returns no more hints. */
  close(): Promise<void>;
}

/**
 * The hints about changes in one database: the commits of this process, the signals of other
 * processes, and polling, which alone is enough. Without a listener nothing is polled; commits of
 * this process are signalled to other processes all the same.
 */
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
      // A function of its own, so that one listener can be added twice.
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

/** One signal to other processes covers all commits of this interval. */
const signalMs = 5;

/** How long after a signal to poll for transactions that ran beside the one that sent it. */
const soonMs = 10;

interface Polling {
  start(): void;
  /** Something happened: the polls after the next one come sooner. */
  speedUp(): void;
  /** The next poll comes almost at once. */
  pollSoon(): void;
  stop(): void;
}

interface PollingListener {
  readonly notify: () => void;
  /** Records that other programs wrote to tables without triggers; null if all have them. */
  readonly findUntracked: (() => Promise<void>) | null;
}

function createPolling(driver: Driver, clock: Clock, listener: PollingListener): Polling {
  const { poll, minMs, maxMs } = driver.dialect.engine === "sqlite"
    ? sqlitePolling(driver, listener)
    : { poll: postgresPoll(listener.notify), minMs: 100, maxMs: 500 };
  let delayMs = minMs;
  let cancel: (() => void) | null = null;
  /** A poll that runs while this changes schedules no other. */
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

interface PollingMethod {
  /** Returns whether there was anything new. */
  readonly poll: () => Promise<boolean>;
  readonly minMs: number;
  readonly maxMs: number;
}

/** SQLite counts the commits of all other connections, and reading the count costs nothing. */
function sqlitePolling(
  driver: Driver,
  { notify, findUntracked }: PollingListener,
): PollingMethod {
  /** Null after a poll that has failed, which is news as well: the first one may. */
  let known: unknown;

  async function poll(): Promise<boolean> {
    const version = await recovered<unknown>(
      async () => (await driver.query({ text: "PRAGMA data_version", values: [] })).rows[0]?.[0],
      // By contract: the read of the log after the hint meets the same error, and reports it.
      () => null,
    );
    const isNews = version !== known;
    // Where it fails the next poll tries again: the count is still different.
    const isFound = !isNews || findUntracked === null ||
      await findUntracked().then(() => true, () => false);
    if (isFound) known = version;
    if (isNews) notify();
    return isNews;
  }

  return { poll, minMs: 25, maxMs: 100 };
}

/** Reading the log of a Postgres costs no more than finding out whether to read it. */
function postgresPoll(notify: () => void): () => Promise<boolean> {
  return () => {
    notify();
    return Promise.resolve(false);
  };
}

interface Throttled {
  run(): void;
  cancel(): void;
}

/** Runs `work` at once; all runs within the interval after that become one, at its end. */
function throttled(intervalMs: number, clock: Clock, work: () => void): Throttled {
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
