import { setImmediate } from "node:timers";
import type { Clock } from "../../src/runtime/runtime.ts";
import { Chance } from "../live/checker/chance.ts";

/** The kind of a step. A schedule draws one weight for each kind. */
export type StepKind =
  | "read"
  | "result"
  | "write"
  | "commit"
  | "hint"
  | "store"
  | "client"
  | "request";

const stepKinds: readonly StepKind[] = [
  ...["read", "result", "write", "commit"] as const,
  ...["hint", "store", "client", "request"] as const,
];

interface Step {
  readonly kind: StepKind;
  readonly label: string;
  readonly resume: () => void;
}

interface Timer {
  readonly at: number;
  readonly work: () => void;
}

/**
 * Decides by a seed which of the waiting steps continues next. Every call at a seam waits for its
 * step. Time is virtual: it advances to the next timer only when the scheduler decides so.
 */
export class Scheduler {
  readonly clock: Clock;
  /** Called with a line for each step. */
  trace: ((line: string) => void) | null = null;
  #chance: Chance = new Chance(0);
  #weights: Readonly<Record<string, number>> = {};
  #timerShare = 0;
  /** Waits until other programs wait, too. Resolves with false if none was running. */
  untilOthersWait: (() => Promise<boolean>) | null = null;
  /** The faults of the schedule until now. */
  faults: string[] = [];
  #faultsLeft = 0;
  #callsToFault = 0;
  #isOpen = true;
  #waiting: Step[] = [];
  #timers: Timer[] = [];
  #nowMs = 0;
  #earlyUntilMs = 0;
  /** Increases with every call at a seam, so that the scheduler sees if anything still runs. */
  #activity = 0;
  #steps = 0;

  /** Time begins at a fixed timestamp, so that every run has the same timestamps. */
  constructor() {
    this.clock = {
      now: () => firstTimestamp + Math.floor(this.#nowMs),
      elapsedMs: () => this.#nowMs,
      after: (delayMs, work) => this.#after(delayMs, work),
    };
  }

  /** The number of steps of all schedules. */
  get steps(): number {
    return this.#steps;
  }

  get nowMs(): number {
    return this.#nowMs;
  }

  /** Begins a schedule: from now on, every call at a seam waits. */
  begin(seed: number, hasFaults: boolean): void {
    const chance = this.#chance = new Chance(seed);
    this.#weights = Object.fromEntries(
      stepKinds.map((kind) => [kind, chance.pick([1, 8, 8, 64])]),
    );
    this.#timerShare = chance.pick([0, 0, 40, 12]);
    this.#earlyUntilMs = this.#nowMs + maxEarlyMs;
    this.#faultsLeft = hasFaults && chance.once(2) ? 1 + chance.below(3) : 0;
    this.#callsToFault = 1 + chance.below(maxCallsToFault);
    this.faults = [];
    this.#isOpen = false;
  }

  /** Returns what goes wrong with this call, or null. The n-th call fails, for a random n. */
  fault<Kind extends string>(kinds: readonly Kind[], label: string): Kind | null {
    if (this.#isOpen || this.#faultsLeft === 0 || --this.#callsToFault > 0) return null;
    this.#faultsLeft--;
    this.#callsToFault = 1 + this.#chance.below(maxCallsToFault);
    const kind = this.#chance.pick(kinds);
    this.faults.push(kind);
    this.trace?.(`fault ${kind}: ${label}`);
    return kind;
  }

  /** Waits in virtual time. */
  sleep(ms: number): Promise<void> {
    return new Promise((resolve) => this.#after(ms, resolve));
  }

  /** From now on, no call fails. */
  endFaults(): void {
    this.#faultsLeft = 0;
  }

  /** Ends the schedule: everything that waits continues, and later calls do not wait. */
  open(): void {
    this.#isOpen = true;
    for (const { resume } of this.#waiting.splice(0)) resume();
  }

  /** Waits until the scheduler picks this step. Returns undefined if no schedule runs. */
  pass(kind: StepKind, label: string): Promise<void> | undefined {
    this.#activity++;
    if (this.#isOpen) return undefined;
    return new Promise((resume) => this.#waiting.push({ kind, label, resume }));
  }

  /** Shows the scheduler that something has happened. */
  noteActivity(): void {
    this.#activity++;
  }

  /** Runs one step after another, until `isOver` returns true when nothing else can run. */
  async run(isOver: () => boolean, maxSteps: number): Promise<boolean> {
    for (let step = 0; step < maxSteps; step++) {
      await this.drain();
      if (isOver()) return true;
      const isTimerDue = this.#waiting.length === 0 ||
        (this.#timerShare > 0 && this.#chance.once(this.#timerShare) &&
          (this.#nextTimer()?.at ?? Infinity) < this.#earlyUntilMs);
      if (isTimerDue && this.#fireTimer()) continue;
      if (this.#waiting.length === 0) return isOver();
      this.#resumeOne();
    }
    return false;
  }

  /** Lets the code under test run until all of it waits for a step, a timer or a client. */
  async drain(): Promise<void> {
    for (let quiet = 0; quiet < 2;) {
      const before = this.#activity;
      await new Promise<void>((resolve) => setImmediate(resolve));
      const hasWaited = await this.untilOthersWait?.() ?? false;
      quiet = this.#activity === before && !hasWaited ? quiet + 1 : 0;
    }
  }

  /** Advances the time while no schedule runs. Each timer that is due by then runs once. */
  async advance(ms: number): Promise<void> {
    this.#nowMs += ms;
    const due = this.#timers.filter(({ at }) => at <= this.#nowMs);
    for (const timer of due) if (this.#timers.includes(timer)) this.#fire(timer);
    await this.drain();
  }

  #resumeOne(): void {
    const weightOf = ({ kind }: Step) => this.#weights[kind] ?? 1;
    const total = this.#waiting.reduce((sum, step) => sum + weightOf(step), 0);
    let left = this.#chance.below(total);
    const index = this.#waiting.findIndex((step) => (left -= weightOf(step)) < 0);
    const [step] = this.#waiting.splice(index, 1);
    if (step === undefined) throw new Error("No step waits");
    this.#steps++;
    this.trace?.(`${step.kind} ${step.label}`);
    step.resume();
  }

  #nextTimer(): Timer | undefined {
    let next: Timer | undefined;
    for (const timer of this.#timers) {
      if (next === undefined || timer.at < next.at) next = timer;
    }
    return next;
  }

  #fireTimer(): boolean {
    const timer = this.#nextTimer();
    if (timer === undefined) return false;
    this.#fire(timer);
    return true;
  }

  #fire(timer: Timer): void {
    this.#timers.splice(this.#timers.indexOf(timer), 1);
    this.#nowMs = Math.max(this.#nowMs, timer.at);
    this.#steps++;
    this.trace?.(`timer ${this.#nowMs}`);
    this.#activity++;
    timer.work();
  }

  #after(delayMs: number, work: () => void): () => void {
    this.#activity++;
    const timer = { at: this.#nowMs + Math.max(0, delayMs), work };
    this.#timers.push(timer);
    return () => {
      const index = this.#timers.indexOf(timer);
      if (index >= 0) this.#timers.splice(index, 1);
    };
  }
}

/** Makes `setTimeout` a timer of the scheduler. Returns the function that takes this back. */
export function installTimers({ clock }: Scheduler): () => void {
  const usual = { setTimeout: globalThis.setTimeout, clearTimeout: globalThis.clearTimeout };
  const cancels = new Map<unknown, () => void>();
  let count = 0;
  Object.assign(globalThis, {
    setTimeout(work: (...args: unknown[]) => void, delayMs = 0, ...args: unknown[]) {
      // The library opens a connection from a timer, and a socket continues from a timer after 128
      // KiB. The scheduler waits for the connection and for the result, and fires no timer until then.
      const isOfSocket = delayMs === 0 && ofSockets.test(new Error().stack ?? "");
      if (isOfSocket) return usual.setTimeout(work, 0, ...args);
      const id = ++count;
      cancels.set(id, clock.after(delayMs, () => work(...args)));
      return id;
    },
    clearTimeout(id: unknown) {
      cancels.get(id)?.();
      cancels.delete(id);
    },
  });
  return () => void Object.assign(globalThis, usual);
}

const ofSockets = /\/postgres\/\d|\/open_socket\.ts/;

const firstTimestamp = Date.UTC(2026, 0, 1);

const maxCallsToFault = 60;

/** While steps wait, timers run only in this first part of a schedule: no call takes longer. */
const maxEarlyMs = 1_500;
