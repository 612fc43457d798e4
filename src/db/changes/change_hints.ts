import type { Clock } from "../../runtime/runtime.ts";
import type { Driver } from "../driver.ts";

/** Says when it may be worth a look at the log. A look may find nothing. */
export interface ChangeHints {
  /** Calls back at every hint; the answer ends that. */
  add(look: () => void): () => void;
  /** Gives no more hints. */
  close(): Promise<void>;
}

/**
 * The hints of one database: what this process commits, what others say, and a look every now and
 * then, which alone is enough. Nothing is polled while nobody listens; other processes are told of
 * commits from here all the same.
 */
export function changeHints(
  driver: Driver,
  clock: Clock,
  findUntracked: (() => Promise<void>) | null = null,
): ChangeHints {
  const looks = new Set<() => void>();
  const tell = () => {
    for (const look of looks) look();
  };
  const poll = driver.isShared ? polling(driver, clock, { tell, findUntracked }) : null;
  const line = driver.signals?.listen((isAlone) => {
    if (isAlone) poll?.lookSoon();
    else poll?.hurry();
    tell();
  }) ?? null;
  const announce = line === null ? null : throttled(announceMs, clock, () => line.send());
  const stop = driver.onCommit(() => {
    poll?.hurry();
    announce?.ask();
    tell();
  });
  return {
    add(look) {
      // Of its own, so that one function can be added twice.
      const own = () => look();
      looks.add(own);
      poll?.start();
      return () => {
        looks.delete(own);
        if (looks.size === 0) poll?.stop();
      };
    },
    async close() {
      stop();
      poll?.stop();
      announce?.cancel();
      looks.clear();
      await line?.close();
    },
  };
}

/** One signal to other processes covers all that is committed meanwhile. */
const announceMs = 5;

/** How long behind a signal transactions are looked for that ran beside the one that sent it. */
const soonMs = 10;

interface Polling {
  start(): void;
  /** Something happens: the looks behind the next one come sooner. */
  hurry(): void;
  /** The next look comes at once, almost. */
  lookSoon(): void;
  stop(): void;
}

interface Finder {
  readonly tell: () => void;
  /** Records that other programs wrote what is not recorded; null where everything is. */
  readonly findUntracked: (() => Promise<void>) | null;
}

function polling(driver: Driver, clock: Clock, finder: Finder): Polling {
  const { look, shortestMs, maxMs } = driver.dialect.engine === "sqlite"
    ? sqlitePolling(driver, finder)
    : { look: postgresLook(finder.tell), shortestMs: 100, maxMs: 500 };
  let delayMs = shortestMs;
  let cancel: (() => void) | null = null;
  /** Tells a look that is under way that nobody waits for it any more. */
  let round = 0;

  function next(): void {
    const started = round;
    cancel = clock.after(delayMs, async () => {
      const isNews = await look();
      if (round !== started) return;
      delayMs = isNews ? shortestMs : Math.min(delayMs * 1.5, maxMs);
      next();
    });
  }

  return {
    start() {
      if (cancel === null) next();
    },
    hurry() {
      delayMs = shortestMs;
    },
    lookSoon() {
      if (cancel === null) return;
      round++;
      cancel();
      delayMs = soonMs;
      next();
    },
    stop() {
      round++;
      cancel?.();
      cancel = null;
    },
  };
}

interface PollingMethod {
  /** Looks, and gives whether there was any news. */
  readonly look: () => Promise<boolean>;
  readonly shortestMs: number;
  readonly maxMs: number;
}

/** SQLite counts the commits of all other connections, and reading the count costs nothing. */
function sqlitePolling(driver: Driver, { tell, findUntracked }: Finder): PollingMethod {
  let known: unknown = null;

  async function look(): Promise<boolean> {
    const version = await driver.query({ text: "PRAGMA data_version", values: [] }).then(
      ({ rows }) => rows[0]?.[0],
      // Whoever looks at the log meets the fault, too, and there it is told.
      () => null,
    );
    const isNews = version !== known;
    // Where it fails the next look tries again: the count is still another one.
    const isFound = !isNews || findUntracked === null ||
      await findUntracked().then(() => true, () => false);
    if (isFound) known = version;
    if (isNews) tell();
    return isNews;
  }

  return { look, shortestMs: 25, maxMs: 100 };
}

/** Looking at the log of a Postgres costs no more than asking whether one should. */
function postgresLook(tell: () => void): () => Promise<boolean> {
  return () => {
    tell();
    return Promise.resolve(false);
  };
}

interface Announcement {
  ask(): void;
  cancel(): void;
}

/** Runs `work` at once, and what is asked for soon after that together, later. */
function throttled(intervalMs: number, clock: Clock, work: () => void): Announcement {
  let rest: (() => void) | null = null;
  let isWanted = false;

  function run(): void {
    isWanted = false;
    work();
    rest = clock.after(intervalMs, () => {
      rest = null;
      if (isWanted) run();
    });
  }

  return {
    ask() {
      if (rest === null) run();
      else isWanted = true;
    },
    cancel: () => rest?.(),
  };
}
