import type { CheckoutItem, PaidPrice } from "./billing_provider.ts";

/**
 * The names of metadata that only the service sets. Values from a browser are dropped. `userId` is
 * included because it identifies the account if `accountId` is missing.
 */
export const reservedMetadata = [
  ...["accountId", "userId", "planKey", "prices", "checkoutCode"] as const,
];

/** Writes the items of a checkout into a metadata string, for events that do not name prices. */
export function pricesText(items: readonly CheckoutItem[]): string {
  return items.map(({ priceId, quantity }) => `${priceId}*${quantity}`).join(" ");
}

/** Parses the items that {@link pricesText} wrote. */
export function pricesIn(metadata: Readonly<Record<string, string>>): readonly PaidPrice[] {
  const { prices = "" } = metadata;
  return [...prices.matchAll(/(?:^| )([^ *]+)\*(\d{1,9})(?= |$)/g)]
    .map(([, id = "", quantity]) => ({ ids: [id], quantity: Number(quantity) }));
}
