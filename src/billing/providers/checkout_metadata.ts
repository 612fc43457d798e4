import type { CheckoutItem, PaidPrice } from "./billing_provider.ts";

/** Metadata that only the service sets. `userId` names the account if `accountId` is missing. */
export const reservedMetadata = [
  ...["accountId", "userId", "planKey", "prices", "checkoutCode"] as const,
];

export function pricesText(items: readonly CheckoutItem[]): string {
  return items.map(({ priceId, quantity }) => `${priceId}*${quantity}`).join(" ");
}

export function pricesIn(metadata: Readonly<Record<string, string>>): readonly PaidPrice[] {
  const { prices = "" } = metadata;
  return [...prices.matchAll(/(?:^| )([^ *]+)\*(\d{1,9})(?= |$)/g)]
    .map(([, id = "", quantity]) => ({ ids: [id], quantity: Number(quantity) }));
}
