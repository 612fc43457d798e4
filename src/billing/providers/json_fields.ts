import type { BillingSubscription, SubscriptionStatus } from "../billing_event.ts";
import type { VendorEvent } from "./billing_provider.ts";

/** Reads the fields of a JSON object from a provider. A field of a wrong type is undefined. */
export class JsonFields {
  readonly value: unknown;

  constructor(value: unknown) {
    this.value = value;
  }

  text(name: string): string | undefined {
    const value = this.#own(name);
    return typeof value === "string" && value !== "" ? value : undefined;
  }

  /** Returns a number. Some providers send numbers as strings, which are converted. */
  number(name: string): number | undefined {
    const value = this.#own(name);
    if (typeof value === "number") return Number.isFinite(value) ? value : undefined;
    return typeof value === "string" && /^-?\d{1,15}$/.test(value) ? Number(value) : undefined;
  }

  /** Returns a quantity: 1 if the field is absent, and NaN if the field is not a number. */
  quantity(name = "quantity"): number {
    const value = this.#own(name);
    return value === undefined ? 1 : typeof value === "number" ? value : NaN;
  }

  /** Like {@link quantity}, but also returns 1 for null, which means a price without a quantity. */
  quantityOrNull(name = "quantity"): number {
    return this.#own(name) === null ? 1 : this.quantity(name);
  }

  flag(name: string): boolean | undefined {
    const value = this.#own(name);
    return typeof value === "boolean" ? value : undefined;
  }

  at(name: string): JsonFields {
    return new JsonFields(this.#own(name));
  }

  list(name: string): readonly JsonFields[] {
    const value = this.#own(name);
    return Array.isArray(value) ? value.map((one) => new JsonFields(one)) : [];
  }

  id(name: string): string | undefined {
    const value = this.#own(name);
    if (typeof value === "number") return String(value);
    return typeof value === "object" ? new JsonFields(value).text("id") : this.text(name);
  }

  texts(name: string): Readonly<Record<string, string>> {
    const value = this.#own(name);
    if (typeof value !== "object" || value === null) return {};
    return Object.fromEntries(
      Object.entries(value).flatMap(([key, value]) =>
        /^(string|number|boolean)$/.test(typeof value) ? [[key, String(value)]] : []
      ),
    );
  }

  #own(name: string): unknown {
    const { value } = this;
    return typeof value === "object" && value !== null && Object.hasOwn(value, name)
      ? Reflect.get(value, name)
      : undefined;
  }
}

export function statusOf(word: string | undefined): SubscriptionStatus {
  return statuses.get(word ?? "") ?? "incomplete";
}

const statuses: ReadonlyMap<string, SubscriptionStatus> = new Map([
  ...(["active", "trialing", "past_due", "canceled", "paused", "unpaid"] as const)
    .map((status) => [status, status] as const),
  ["on_trial", "trialing"],
  ["cancelled", "canceled"],
  ["expired", "expired"],
  ["incomplete_expired", "expired"],
]);

export function subscriptionFacts(
  subscription: BillingSubscription | null,
): Pick<VendorEvent, "subscription" | "subscriptionId"> {
  return subscription === null ? {} : { subscription, subscriptionId: subscription.id };
}

/**
 * Returns true if credit (a balance, or a refund for the old plan) paid more than half of a charge.
 * A change from a monthly to a yearly plan costs more money than credit, and so returns false.
 */
export function isMostlyCredit(cash: number | undefined, charged: number | undefined): boolean {
  return cash !== undefined && charged !== undefined && (cash <= 0 || cash * 2 < charged);
}

export function utcOfSeconds(seconds: number | undefined): string | undefined {
  if (seconds === undefined || Math.abs(seconds) > 8.64e12) return undefined;
  return new Date(seconds * 1000).toISOString();
}

export function utcOf(text: string | undefined): string | undefined {
  const time = Date.parse(text ?? "");
  return Number.isNaN(time) ? undefined : new Date(time).toISOString();
}

export function compact<Fields extends object>(
  fields: Fields,
): { [Name in keyof Fields]: Exclude<Fields[Name], undefined> } {
  // The cast is safe, because only undefined fields were removed.
  return Object.fromEntries(
    Object.entries(fields).filter(([, value]) => value !== undefined),
  ) as { [Name in keyof Fields]: Exclude<Fields[Name], undefined> };
}
