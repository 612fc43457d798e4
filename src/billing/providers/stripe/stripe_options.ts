import { groupOf } from "../../../options/option.ts";
import { textLike } from "../../../options/option_kinds.ts";
import { keyOption, providerOptionRules, type ProviderOptions } from "../billing_provider.ts";

/** Options of `stripe`. */
export interface StripeOptions extends ProviderOptions {
  /** The secret key, `sk_live_…`, or a restricted key, `rk_live_…`. */
  readonly apiKey: string;
  /** Version of Stripe's API. Default: the version of Stripe's library. */
  readonly apiVersion?: string | undefined;
}

export const stripeOptionRules = groupOf<StripeOptions>()({
  ...providerOptionRules,
  apiKey: keyOption().required(),
  apiVersion: textLike('a version like "2026-10-28.endive"', /^\d{4}-\d\d-\d\d(\.[a-z]+)?$/),
}).required();
