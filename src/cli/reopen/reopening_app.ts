import type { App, RequestInfo } from "../../app.ts";
import { sleep } from "../../runtime/event_loop.ts";
import type { OpenService } from "../run_service.ts";

/** An app that another one can take the place of, while the listener stays. */
export interface ReopeningApp {
  /** The first app, whose requests go to the one that is open now. */
  readonly app: App;
  /** From now on requests go to this one; the one before ends once its requests have ended. */
  replaceBy(next: OpenService): void;
}

/** An open app, and how many of its answers are still on their way. */
interface Generation {
  readonly app: App;
  answering: number;
}

/**
 * Creates an app whose place others can take. `looked` resolves when a look at the tables that may
 * be under way has ended: a read that failed meets the tables as they are then, once more.
 */
export function reopeningApp(first: App, looked: () => Promise<void>): ReopeningApp {
  let current: Generation = { app: first, answering: 0 };
  let isDraining = false;
  const ending = new Set<Promise<void>>();

  async function answer(request: Request, info?: RequestInfo): Promise<Response> {
    const generation = current;
    generation.answering++;
    try {
      return await generation.app.fetch(request, info);
    } finally {
      // An answer may be sent for long after it was made.
      const sent = Promise.resolve(info?.completed).catch(() => {});
      void sent.then(() => generation.answering--);
    }
  }

  async function fetch(request: Request, info?: RequestInfo): Promise<Response> {
    const asked = current;
    const response = await answer(request, info);
    if (response.status < 500 || !reads.has(request.method)) return response;
    await looked();
    if (current === asked) return response;
    await response.body?.cancel();
    return await answer(request, info);
  }

  async function end(generation: Generation): Promise<void> {
    // Its streams end one after the other, and their clients come to the next one.
    generation.app.drain();
    for (let waitedMs = 0; generation.answering > 0 && waitedMs < maxWaitMs; waitedMs += askMs) {
      await sleep(askMs);
    }
    await generation.app.close();
  }

  return {
    app: {
      ...first,
      fetch,
      announceStop() {
        isDraining = true;
        current.app.announceStop();
      },
      drain() {
        isDraining = true;
        current.app.drain();
      },
      warmUp: () => current.app.warmUp(),
      async close() {
        await Promise.all([current.app.close(), ...ending]);
      },
    },
    replaceBy({ app }) {
      const before = current;
      current = { app, answering: 0 };
      if (isDraining) app.announceStop();
      app.warmUp();
      const ended = end(before).catch(() => {}).finally(() => ending.delete(ended));
      ending.add(ended);
    },
  };
}

const reads: ReadonlySet<string> = new Set(["GET", "HEAD"]);

/** As long as a stop waits for requests. */
const maxWaitMs = 10_000;
const askMs = 50;
