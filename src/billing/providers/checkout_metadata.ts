import type { CheckoutItem, PaidPrice } from "./billing_provider.ts";

/**
 * The names of metadata that the service alone sets: a browser's values for them are dropped. `userId`
 * is among them because the account is read from it where `accountId` is missing.
 */
export const reservedMetadata = [
  ...["accountId", "userId", "planKey", "prices", "checkoutCode"] as const,
];

/** Writes the items of a checkout into metadata, for events that do not name prices. */
export function pricesText(items: readonly CheckoutItem[]): string {
  return items.map(({ priceId, quantity }) => `${priceId}*${quantity}`).join(" ");
}

/** Reads the items that {@link pricesText} wrote. */
export function pricesIn(metadata: Readonly<Record<string, string>>): readonly PaidPrice[] {
  const { prices = "" } = metadata;
  return [...prices.matchAll(/(?:^| )([^ *]+)\*(\d{1,9})(?= |$)/g)]
    .map(([, id = "", quantity]) => ({ ids: [id], quantity: Number(quantity) }));
}
