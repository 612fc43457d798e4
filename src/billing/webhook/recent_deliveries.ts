import type { Clock } from "../../runtime/runtime.ts";

/** A webhook delivery to this process, and how it was handled. */
export interface ReceivedDelivery {
  /** Time of the delivery, in milliseconds since 1970. */
  readonly at: number;
  /** The provider's id of the event, or null if the signature was invalid. */
  readonly id: string | null;
  /** The types of the events in the delivery. */
  readonly events: readonly string[];
  /**
   * The outcome. A `duplicate` had been handled before, and an `in-flight` delivery was being
   * handled elsewhere. The provider repeats a `failed` delivery. A `refused` delivery was invalid.
   */
  readonly outcome: "handled" | "duplicate" | "in-flight" | "failed" | "refused";
  /** The reason of a refusal, or the name of an error. Null if the delivery was accepted. */
  readonly reason: string | null;
}

/**
 * Keeps recent deliveries in the memory of this process: the last 200 with a valid signature, and
 * the last 50 rejected deliveries. Any client can send invalid deliveries.
 */
export class RecentDeliveries {
  readonly #clock: Clock;
  readonly #believed: ReceivedDelivery[] = [];
  readonly #refused: ReceivedDelivery[] = [];

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  /** The logged deliveries, newest first. */
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
