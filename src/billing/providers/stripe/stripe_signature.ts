import type { WebhookDelivery } from "../billing_provider.ts";
import {
  decodeHexCodes,
  headerOf,
  pairsOf,
  refusedDelivery,
  type SignatureRules,
  verifySignature,
} from "../webhook_signature.ts";

/**
 * Verifies `stripe-signature`: `t=<seconds>,v1=<hex>`, with several `v1` during a rotation
 * (https://docs.stripe.com/webhooks#verify-manually). Throws a 400 for an invalid signature.
 * Stripe's library is not used, because it accepts any time in the future.
 */
export async function verifyStripeSignature(
  delivery: WebhookDelivery,
  rules: SignatureRules,
): Promise<void> {
  const pairs = pairsOf(headerOf(delivery, "stripe-signature"), ",");
  const [timestamp, ...others] = pairs.filter(([name]) => name === "t").map(([, value]) => value);
  if (timestamp === undefined || others.length > 0) {
    throw refusedDelivery("there is not one timestamp");
  }
  const codes = decodeHexCodes(pairs.filter(([name]) => name === "v1").map(([, value]) => value));
  await verifySignature(delivery, { prefix: `${timestamp}.`, codes, timestamp }, rules);
}
