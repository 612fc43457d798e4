import type { User } from "../../auth/authorize.ts";
import { Problem } from "../../problem/problem.ts";
import type { Clock } from "../../runtime/runtime.ts";

/** Calls a function for each member at the member's expiry. All members share one timer. */
export class ExpiryTimer<T> {
  readonly #clock: Clock;
  readonly #expire: (member: T) => void;
  /** The members by the time of their expiry, which is rounded up to whole slots. */
  readonly #members = new Map<number, Set<T>>();
  #next = Infinity;
  #cancel: (() => void) | null = null;

  constructor(clock: Clock, expire: (member: T) => void) {
    this.#clock = clock;
    this.#expire = expire;
  }

  /** Adds a member that expires at a monotonic time; `Infinity` means never. */
  add(member: T, at: number): void {
    if (at === Infinity) return;
    const slot = slotOf(at);
    const members = this.#members.get(slot);
    if (members !== undefined) members.add(member);
    else this.#members.set(slot, new Set([member]));
    if (slot < this.#next) this.#wait(slot);
  }

  remove(member: T, at: number): void {
    const slot = slotOf(at);
    const members = this.#members.get(slot);
    members?.delete(member);
    if (members?.size === 0) this.#members.delete(slot);
    if (this.#members.size === 0) this.stop();
  }

  stop(): void {
    this.#cancel?.();
    this.#cancel = null;
    this.#next = Infinity;
  }

  #wait(slot: number): void {
    this.stop();
    this.#next = slot;
    // Timers of JavaScript cannot wait longer than 24.8 days.
    const delayMs = Math.min(Math.max(0, slot - this.#clock.elapsedMs()), maxWaitMs);
    this.#cancel = this.#clock.after(delayMs, () => this.#check());
  }

  #check(): void {
    this.stop();
    const now = this.#clock.elapsedMs();
    for (const [slot, members] of this.#members) {
      if (slot > now) continue;
      this.#members.delete(slot);
      for (const member of members) this.#expire(member);
    }
    const next = Math.min(...this.#members.keys());
    if (next !== Infinity) this.#wait(next);
  }
}

/** Throws a 401 if the claim `exp` has passed. Returns the time left; `Infinity` without `exp`. */
export function requireUnexpired(user: User | null, clock: Clock): number {
  const seconds = user?.claims?.["exp"];
  const leftMs = typeof seconds === "number" ? seconds * 1000 - clock.now() : Infinity;
  if (leftMs > 0) return leftMs;
  throw new Problem("unauthorized", "Cannot subscribe: the credentials have expired", {
    headers: { "www-authenticate": "Bearer" },
  });
}

function slotOf(at: number): number {
  return Math.ceil(at / slotMs) * slotMs;
}

const slotMs = 250;
const maxWaitMs = 24 * 60 * 60_000;
