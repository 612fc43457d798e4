import type { CheckoutItem, PaidPrice } from "./billing_provider.ts";

/**
 * The metadata names that only the service may set. The service removes them from the metadata of a
 * browser. `userId` is included, because it identifies the account if `accountId` is missing.
 */
export const reservedMetadata = [
  ...["accountId", "userId", "planKey", "prices", "checkoutCode"] as const,
];

/** Writes the prices and quantities of a checkout as a string for the metadata. */
export function pricesText(items: readonly CheckoutItem[]): string {
  return items.map(({ priceId, quantity }) => `${priceId}*${quantity}`).join(" ");
}

/** Parses the prices and quantities that {@link pricesText} wrote into the metadata. */
export function pricesIn(metadata: Readonly<Record<string, string>>): readonly PaidPrice[] {
  const { prices = "" } = metadata;
  return [...prices.matchAll(/(?:^| )([^ *]+)\*(\d{1,9})(?= |$)/g)]
    .map(([, id = "", quantity]) => ({ ids: [id], quantity: Number(quantity) }));
}
