import type { ChangeLog } from "../../../../src/db/changes/change_log.ts";
import type { Matcher } from "../../../../src/live/match/matcher.ts";
import { logMethods } from "../../log_methods.ts";
import type { Chance } from "../chance.ts";

/**
 * Where what is under way waits until it is let on, so that whoever holds the gate decides what
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

/** The log behind a gate, which each question passes twice: before the database and after it. */
export function gatedLog(log: ChangeLog, gate: Gate): ChangeLog {
  async function ask<T>(question: () => Promise<T>): Promise<T> {
    await gate.pass();
    const answer = await question();
    await gate.pass();
    return answer;
  }

  return {
    ...logMethods(log),
    end: () => ask(() => log.end()),
    next: (from) => ask(() => log.next(from)),
    readAt: (statement) => ask(() => log.readAt(statement)),
  };
}

/** The same for what only the database can decide. */
export function gatedDecider(decider: Matcher, gate: Gate): Matcher {
  return {
    ...decider,
    async ask(table, images, filters) {
      await gate.pass();
      const answers = await decider.ask(table, images, filters);
      await gate.pass();
      return answers;
    },
  };
}
