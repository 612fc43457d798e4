/**
 * The billing provider for Stripe, which loads Stripe's library.
 *
 * @module
 */
export { stripe } from "../src/billing/providers/stripe/stripe_provider.ts";
export type { StripeOptions } from "../src/billing/providers/stripe/stripe_options.ts";
