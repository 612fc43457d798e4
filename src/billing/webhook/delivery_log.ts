import type { Clock } from "../../runtime/runtime.ts";

/** A delivery of a webhook that this process has received, and what became of it. */
export interface ReceivedDelivery {
  /** In milliseconds since 1970. */
  readonly at: number;
  /** As the provider numbers its events; null if the delivery was not believed. */
  readonly id: string | null;
  /** The types of its events. */
  readonly events: readonly string[];
  /**
   * `handled`, a `duplicate` of one that was, `in-flight` elsewhere, `failed`, so that the provider
   * repeats it, or `refused`.
   */
  readonly outcome: "handled" | "duplicate" | "in-flight" | "failed" | "refused";
  /** Why it was refused, or the name of the error; null if it was accepted. */
  readonly reason: string | null;
}

/**
 * The log of the deliveries that this process has received, in memory: the last 200 that were
 * believed, and the last 50 that were refused, which anyone can send.
 */
export class DeliveryLog {
  readonly #clock: Clock;
  readonly #believed: ReceivedDelivery[] = [];
  readonly #refused: ReceivedDelivery[] = [];

  /** Begins empty. */
  constructor(clock: Clock) {
    this.#clock = clock;
  }

  /** The deliveries, the newest first. */
  get deliveries(): readonly ReceivedDelivery[] {
    return [...this.#believed, ...this.#refused]
      .sort((left, right) => left.at - right.at).reverse();
  }

  /** Notes a delivery that is answered. */
  add(delivery: Omit<ReceivedDelivery, "at">): void {
    const isRefused = delivery.outcome === "refused";
    const [list, most] = isRefused ? [this.#refused, 50] as const : [this.#believed, 200] as const;
    list.push({ at: this.#clock.now(), ...delivery });
    if (list.length > most) list.shift();
  }
}
