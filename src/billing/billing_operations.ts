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

/** A checkout: of a plan by its key, or of prices. */
export interface CheckoutRequest {
  /** The account that gets the credits. */
  readonly account: string;
  /** The key of a plan. */
  readonly planKey?: string | undefined;
  /** In place of a plan: prices of plans, unless `anyPrice` is set. */
  readonly items?: readonly CheckoutItem[] | undefined;
  /** That of the plan unless set. */
  readonly mode?: CheckoutMode | undefined;
  /** The customer who pays; the provider makes one unless set. */
  readonly customerId?: string | undefined;
  /** Fills in the form. */
  readonly customerEmail?: string | undefined;
  /** Where the customer returns to after paying. */
  readonly successUrl?: string | undefined;
  /** Where the customer returns to without paying. */
  readonly cancelUrl?: string | undefined;
  /** Comes back in events. Names that the service sets itself are dropped. */
  readonly metadata?: Readonly<Record<string, string>> | undefined;
  /** The same for repetitions of the same checkout. */
  readonly idempotencyKey?: string | undefined;
}

/** Usage to report. */
export interface UsageRequest {
  /** The provider's id of the item of a subscription; with Polar that of the subscription. */
  readonly subscriptionItemId: string;
  /** A whole number from 0 on. */
  readonly quantity: number;
  /** `increment` unless set. */
  readonly action?: "increment" | "set" | undefined;
  /** The same for repetitions of one report. */
  readonly idempotencyKey?: string | undefined;
}

/** What the operations of billing work with. */
export interface BillingOperationsOptions {
  readonly provider: BillingProvider;
  readonly plans: BillingPlans;
  /** True if prices without a plan can be checked out by their ids. */
  readonly anyPrice: boolean;
  readonly codes: CheckoutCodes;
  readonly random: Random;
}

/**
 * The operations of billing at the provider. They throw 501 `billing-unsupported` for what it does
 * not offer, and 502 `billing-failed` where it refuses or does not answer.
 */
export class BillingOperations {
  readonly #options: BillingOperationsOptions;

  /** Makes no call yet. */
  constructor(options: BillingOperationsOptions) {
    this.#options = options;
  }

  /** Creates a page to pay at. Throws a 422 for a plan or a price that is unknown. */
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
      // With what is bought: the same key for something else is another checkout.
      idempotencyKey: hashOf([account, mode, items, metadata, successUrl, cancelUrl, own]),
    });
  }

  /** The subscriptions of a customer. */
  async listSubscriptions(customerId: string): Promise<readonly BillingSubscription[]> {
    return await this.#options.provider.listSubscriptions(customerId);
  }

  /** One subscription; null for an unknown id. */
  async getSubscription(id: string): Promise<BillingSubscription | null> {
    return await this.#options.provider.getSubscription(id);
  }

  /** Cancels a subscription, at the end of what is paid unless `atPeriodEnd` is false. */
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

  /** Reports usage. */
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

  /** Throws where the provider has no portal. */
  requirePortal(): void {
    const { provider } = this.#options;
    if (provider.createPortal === undefined) throw unsupported("open a portal", provider);
  }

  /** Creates a page at which a customer manages subscriptions. */
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
