import type { ChangeLog } from "../../../../src/db/changes/change_log.ts";
import type { Matcher } from "../../../../src/live/match/matcher.ts";
import { logMethods } from "../../log_methods.ts";
import type { Chance } from "../chance.ts";

/**
 * Where pending work waits until it may continue, so that the holder of the gate decides what
 * happens before what. An open gate lets everything pass at once.
 */
export class Gate {
  #isOpen = true;
  #waiting: (() => void)[] = [];

  /** How much waits. */
  get size(): number {
    return this.#waiting.length;
  }

  /** Waits for its turn. */
  pass(): Promise<void> {
    if (this.#isOpen) return Promise.resolve();
    return new Promise((resolve) => this.#waiting.push(resolve));
  }

  /** From now on everything waits. */
  hold(): void {
    this.#isOpen = false;
  }

  /** Lets everything pass. */
  open(): void {
    this.#isOpen = true;
    for (const resolve of this.#waiting.splice(0)) resolve();
  }

  /** Lets one pass, whichever. */
  releaseOne(chance: Chance): void {
    const [resolve] = this.#waiting.splice(chance.below(this.#waiting.length), 1);
    resolve?.();
  }
}

/** A log with a gate, which each query passes twice: before the database and after it. */
export function gatedLog(log: ChangeLog, semaphore: Gate): ChangeLog {
  async function evaluateInDatabase<T>(question: () => Promise<T>): Promise<T> {
    await semaphore.pass();
    const answer = await question();
    await semaphore.pass();
    return answer;
  }

  return {
    ...logMethods(log),
    end: () => evaluateInDatabase(() => log.end()),
    next: (from) => evaluateInDatabase(() => log.next(from)),
    readAt: (statement, limits) => evaluateInDatabase(() => log.readAt(statement, limits)),
  };
}

/** The same for what only the database can decide. */
export function limitedMatcher(matcher: Matcher, semaphore: Gate): Matcher {
  return {
    ...matcher,
    async evaluateInDatabase(table, images, filters, identity) {
      await semaphore.pass();
      const answers = await matcher.evaluateInDatabase(table, images, filters, identity);
      await semaphore.pass();
      return answers;
    },
  };
}
