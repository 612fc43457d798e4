import type { Clock } from "../../runtime/runtime.ts";

/** A webhook request to this process, and its outcome. */
export interface ReceivedDelivery {
  /** Time of the delivery, in milliseconds since 1970. */
  readonly at: number;
  /** The provider's id of the event, or null if the delivery was `refused`. */
  readonly id: string | null;
  /** The types of the events in the delivery. */
  readonly events: readonly string[];
  /**
   * The outcome. `duplicate`: handled before. `in-flight`: another process was handling it.
   * `failed`: the provider will repeat the delivery. `refused`: the delivery was invalid.
   */
  readonly outcome: "handled" | "duplicate" | "in-flight" | "failed" | "refused";
  /** Why the delivery was `refused`, or the error's name if it `failed`; otherwise null. */
  readonly reason: string | null;
}

/** Keeps the last 200 valid deliveries, and the last 50 refused ones, which any client can send. */
export class RecentDeliveries {
  readonly #clock: Clock;
  readonly #believed: ReceivedDelivery[] = [];
  readonly #refused: ReceivedDelivery[] = [];

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  get deliveries(): readonly ReceivedDelivery[] {
    return [...this.#believed, ...this.#refused]
      .sort((left, right) => left.at - right.at).reverse();
  }

  add(delivery: Omit<ReceivedDelivery, "at">): void {
    const isRefused = delivery.outcome === "refused";
    const [list, most] = isRefused ? [this.#refused, 50] as const : [this.#believed, 200] as const;
    list.push({ at: this.#clock.now(), ...delivery });
    if (list.length > most) list.shift();
  }
}
