import { createHash } from "node:crypto";
import { bytesToHex } from "../protocol/byte_text.ts";
import { Problem } from "../problem/problem.ts";
import type { Random } from "../runtime/runtime.ts";
import { type BillingPlans, modeOf } from "./billing_plan.ts";
import type { BillingSubscription } from "./billing_event.ts";
import type {
  BillingProvider,
  CheckoutItem,
  CheckoutMode,
  CheckoutSession,
} from "./providers/billing_provider.ts";
import { pricesText, reservedMetadata } from "./providers/checkout_metadata.ts";
import type { CheckoutCodes } from "./checkout_codes.ts";
import { invalidCheckout } from "./invalid_checkout.ts";

/** A checkout of a plan by its key, or of prices. */
export interface CheckoutRequest {
  /** The account that receives the credits. */
  readonly account: string;
  /** The key of a plan. */
  readonly planKey?: string | undefined;
  /** Prices of plans instead of a plan, or any prices if `anyPrice` is set. */
  readonly items?: readonly CheckoutItem[] | undefined;
  /** Mode of the checkout. Default: the mode of the plan. */
  readonly mode?: CheckoutMode | undefined;
  /** The customer who pays. Default: the provider creates one. */
  readonly customerId?: string | undefined;
  /** Email address to prefill in the form. */
  readonly customerEmail?: string | undefined;
  /** URL to which the customer returns after paying. */
  readonly successUrl?: string | undefined;
  /** URL to which the customer returns without paying. */
  readonly cancelUrl?: string | undefined;
  /** Metadata that events return. Names that the service itself sets are dropped. */
  readonly metadata?: Readonly<Record<string, string>> | undefined;
  /** Key that is equal for repetitions of the same checkout. */
  readonly idempotencyKey?: string | undefined;
}

/** Usage to report. */
export interface UsageRequest {
  /** The provider's id of the subscription item; with Polar, the id of the subscription. */
  readonly subscriptionItemId: string;
  /** A whole number, 0 or more. */
  readonly quantity: number;
  /** The kind of report: `increment` adds to the usage, `set` replaces it. Default: `increment`. */
  readonly action?: "increment" | "set" | undefined;
  /** Key that is equal for repetitions of one report. */
  readonly idempotencyKey?: string | undefined;
}

export interface BillingOperationsOptions {
  readonly provider: BillingProvider;
  readonly plans: BillingPlans;
  /** True if the prices of a checkout need no plan. */
  readonly anyPrice: boolean;
  readonly codes: CheckoutCodes;
  readonly random: Random;
}

/**
 * The operations of billing at the provider. They throw a 501 `billing-unsupported` for operations
 * that the provider does not offer, and a 502 `billing-failed` if the provider refuses or does not
 * respond.
 */
export class BillingOperations {
  readonly #options: BillingOperationsOptions;

  /** Makes no call yet. */
  constructor(options: BillingOperationsOptions) {
    this.#options = options;
  }

  /** Creates a payment page. Throws a 422 for an unknown plan or price. */
  async checkout(request: CheckoutRequest): Promise<CheckoutSession> {
    const { account, customerId, customerEmail, successUrl, cancelUrl } = request;
    const { items, mode, plan } = this.#chosen(request);
    const wrong = items.findIndex(({ quantity }) =>
      !Number.isSafeInteger(quantity) || quantity < 1
    );
    if (wrong >= 0) {
      const path = `items.${wrong}.quantity`;
      throw invalidCheckout([{ path, message: "must be a whole number from 1 on" }]);
    }
    const { random, provider, codes } = this.#options;
    const prices = pricesText(items);
    const metadata: Record<string, string> = { ...plan?.metadata, ...request.metadata };
    for (const name of reservedMetadata) delete metadata[name];
    Object.assign(metadata, {
      accountId: account,
      ...(plan === undefined ? {} : { planKey: plan.key }),
      prices,
      checkoutCode: await codes.make({ accountId: account, prices, mode }),
    });
    const own = request.idempotencyKey ?? bytesToHex(random.bytes(16));
    return await provider.createCheckout({
      mode,
      items,
      successUrl,
      cancelUrl,
      customerId,
      customerEmail,
      accountId: account,
      metadata,
      // The provider's key covers the purchase, so the caller's key with another purchase is
      // another checkout.
      idempotencyKey: hashOf([account, mode, items, metadata, successUrl, cancelUrl, own]),
    });
  }

  async listSubscriptions(customerId: string): Promise<readonly BillingSubscription[]> {
    return await this.#options.provider.listSubscriptions(customerId);
  }

  /** Returns one subscription; null for an unknown id. */
  async getSubscription(id: string): Promise<BillingSubscription | null> {
    return await this.#options.provider.getSubscription(id);
  }

  /**
   * Cancels a subscription at the end of the paid period; immediately if `atPeriodEnd` is false.
   */
  async cancelSubscription(
    id: string,
    { atPeriodEnd = true }: { readonly atPeriodEnd?: boolean | undefined } = {},
  ): Promise<BillingSubscription> {
    return await this.#options.provider.cancelSubscription(id, { atPeriodEnd });
  }

  /** Changes the price of a subscription. */
  async updateSubscription(
    id: string,
    { priceId }: { readonly priceId: string },
  ): Promise<BillingSubscription> {
    return await this.#options.provider.updateSubscription(id, { priceId });
  }

  async reportUsage(request: UsageRequest): Promise<void> {
    const { provider, random } = this.#options;
    const { subscriptionItemId, quantity, action = "increment" } = request;
    if (provider.reportUsage === undefined) throw unsupported("report usage", provider);
    if (!Number.isSafeInteger(quantity) || quantity < 0) {
      throw new Problem("validation-error", "Cannot report usage: quantity is no whole number");
    }
    const idempotencyKey = request.idempotencyKey ?? bytesToHex(random.bytes(16));
    await provider.reportUsage({ subscriptionItemId, quantity, action, idempotencyKey });
  }

  /** Throws if the provider has no portal. */
  requirePortal(): void {
    const { provider } = this.#options;
    if (provider.createPortal === undefined) throw unsupported("open a portal", provider);
  }

  /** Creates a page on which a customer manages subscriptions. */
  async createPortal(
    customerId: string,
    returnUrl?: string | undefined,
  ): Promise<{ readonly url: string }> {
    const { provider } = this.#options;
    if (provider.createPortal === undefined) throw unsupported("open a portal", provider);
    return await provider.createPortal(customerId, returnUrl);
  }

  #chosen({ planKey, items, mode }: CheckoutRequest) {
    const { plans, anyPrice } = this.#options;
    if (items === undefined || planKey !== undefined) {
      const plan = plans.withKey(planKey ?? "");
      if (plan === undefined || items !== undefined) {
        throw invalidCheckout([{ path: "planKey", message: "must be the key of a plan" }]);
      }
      if (mode !== undefined && mode !== modeOf(plan)) {
        throw invalidCheckout([{ path: "mode", message: `is "${modeOf(plan)}" for this plan` }]);
      }
      return { items: [{ priceId: plan.priceId, quantity: 1 }], mode: modeOf(plan), plan };
    }
    const found = items.map(({ priceId }) => plans.withPrice(priceId));
    const missing = found.findIndex((plan) => plan === undefined);
    if (missing >= 0 && !anyPrice) {
      const path = `items.${missing}.priceId`;
      throw invalidCheckout([{ path, message: "must be the price of a plan" }]);
    }
    const [plan] = found;
    const inferred = mode ?? (plan === undefined ? undefined : modeOf(plan));
    if (inferred === undefined) {
      throw invalidCheckout([{ path: "mode", message: 'must be "subscription" or "payment"' }]);
    }
    return { items, mode: inferred, plan };
  }
}

function unsupported(what: string, { name }: BillingProvider): Problem {
  return new Problem("billing-unsupported", `Cannot ${what}: ${name} does not offer this`);
}

function hashOf(parts: unknown): string {
  return createHash("sha256").update(JSON.stringify(parts)).digest("base64url");
}
