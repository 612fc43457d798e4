import type { Clock } from "../../runtime/runtime.ts";

/** A webhook delivery that this process has received, and its outcome. */
export interface ReceivedDelivery {
  /** Time in milliseconds since 1970. */
  readonly at: number;
  /** The provider's id of the event; null if the delivery was not authentic. */
  readonly id: string | null;
  /** The types of the delivery's events. */
  readonly events: readonly string[];
  /**
   * The outcome: `handled`, a `duplicate` of a handled delivery, `in-flight` in another process,
   * `failed` (the provider repeats it), or `refused`.
   */
  readonly outcome: "handled" | "duplicate" | "in-flight" | "failed" | "refused";
  /** The reason of the refusal, or the name of the error. Null if the delivery was accepted. */
  readonly reason: string | null;
}

/**
 * The log of received deliveries in the memory of this process: the last 200 authentic deliveries,
 * and the last 50 refused deliveries. Any client can send deliveries that are refused.
 */
export class DeliveryLog {
  readonly #clock: Clock;
  readonly #believed: ReceivedDelivery[] = [];
  readonly #refused: ReceivedDelivery[] = [];

  /** Starts empty. */
  constructor(clock: Clock) {
    this.#clock = clock;
  }

  /** The deliveries, newest first. */
  get deliveries(): readonly ReceivedDelivery[] {
    return [...this.#believed, ...this.#refused]
      .sort((left, right) => left.at - right.at).reverse();
  }

  /** Records a delivery and its outcome. */
  add(delivery: Omit<ReceivedDelivery, "at">): void {
    const isRefused = delivery.outcome === "refused";
    const [list, most] = isRefused ? [this.#refused, 50] as const : [this.#believed, 200] as const;
    list.push({ at: this.#clock.now(), ...delivery });
    if (list.length > most) list.shift();
  }
}
