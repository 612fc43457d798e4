import { createHash, createHmac } from "node:crypto";
import { bytesToBase64, bytesToHex, encodeBase64url, isSameSecret } from "../protocol/byte_text.ts";
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
import { invalidCheckout } from "./invalid_checkout.ts";
import type { KeyValue } from "../kv/key_value.ts";
import { deriveKey } from "../runtime/derive_key.ts";
import { billingKeys } from "./webhook/billing_keys.ts";

/** A request for a checkout, in which a customer buys a plan or a list of prices. */
export interface CheckoutRequest {
  /** The account that receives the credits of the purchase. */
  readonly account: string;
  /** The key of the plan to buy. */
  readonly planKey?: string | undefined;
  /** The prices to buy instead of a plan. A price that belongs to no plan requires `anyPrice`. */
  readonly items?: readonly CheckoutItem[] | undefined;
  /** A subscription or a single payment. Default: the mode that the plan's `type` requires. */
  readonly mode?: CheckoutMode | undefined;
  /** The provider's id of the paying customer. Default: the provider creates a customer. */
  readonly customerId?: string | undefined;
  /** Email address that is prefilled in the payment form. */
  readonly customerEmail?: string | undefined;
  /** URL to which the customer returns after paying. */
  readonly successUrl?: string | undefined;
  /** URL to which the customer returns without paying. */
  readonly cancelUrl?: string | undefined;
  /** Metadata that the events of the purchase contain. Members with reserved names are removed. */
  readonly metadata?: Readonly<Record<string, string>> | undefined;
  /** Idempotency key. Repetitions of one checkout must have the same key. */
  readonly idempotencyKey?: string | undefined;
}

/** Usage of a subscription that is reported to the provider. */
export interface UsageRequest {
  /** The provider's id of the subscription item. For Polar, the id of the subscription. */
  readonly subscriptionItemId: string;
  /** Number of used units: a whole number from 0 on. */
  readonly quantity: number;
  /** `increment` adds to the usage reported so far, `set` replaces it. Default: `increment`. */
  readonly action?: "increment" | "set" | undefined;
  /** Idempotency key. Repetitions of one report must have the same key. */
  readonly idempotencyKey?: string | undefined;
}

interface BillingOperationsOptions {
  readonly provider: BillingProvider;
  readonly plans: BillingPlans;
  readonly anyPrice: boolean;
  readonly codes: CheckoutCodes;
  readonly random: Random;
}

/** Operations of the provider. An unsupported operation throws a 501, a failed one a 502. */
export interface BillingOperations
  extends Pick<BillingProvider, "listSubscriptions" | "getSubscription" | "updateSubscription"> {
  /** Creates a page on which a customer pays. Throws a 422 for an unknown plan or price. */
  checkout(request: CheckoutRequest): Promise<CheckoutSession>;
  /** Creates a page at the provider on which a customer manages subscriptions. */
  createPortal(customerId: string, returnUrl?: string): Promise<{ readonly url: string }>;
  /** Cancels a subscription when the paid period ends, or immediately if `atPeriodEnd` is false. */
  cancelSubscription(
    id: string,
    options?: { readonly atPeriodEnd?: boolean | undefined },
  ): Promise<BillingSubscription>;
  /** Reports the usage of a subscription to the provider. */
  reportUsage(request: UsageRequest): Promise<void>;
}

export function createBillingOperations(options: BillingOperationsOptions): BillingOperations {
  const { provider, random } = options;
  return {
    checkout: (request) => checkout(request, options),
    async createPortal(customerId, returnUrl) {
      return await portalOf(provider)(customerId, returnUrl);
    },
    listSubscriptions: (customerId) => provider.listSubscriptions(customerId),
    getSubscription: (id) => provider.getSubscription(id),
    cancelSubscription: (id, { atPeriodEnd = true } = {}) =>
      provider.cancelSubscription(id, { atPeriodEnd }),
    updateSubscription: (id, { priceId }) => provider.updateSubscription(id, { priceId }),
    async reportUsage({ subscriptionItemId, quantity, action = "increment", idempotencyKey }) {
      if (provider.reportUsage === undefined) throw unsupported("report usage", provider);
      if (!Number.isSafeInteger(quantity) || quantity < 0) {
        throw new Problem("validation-error", "Cannot report usage: quantity is no whole number");
      }
      const key = idempotencyKey ?? bytesToHex(random.bytes(16));
      const report = { subscriptionItemId, quantity, action, idempotencyKey: key };
      await provider.reportUsage(report);
    },
  };
}

export function portalOf(provider: BillingProvider): NonNullable<BillingProvider["createPortal"]> {
  if (provider.createPortal === undefined) throw unsupported("open a portal", provider);
  return provider.createPortal.bind(provider);
}

async function checkout(
  request: CheckoutRequest,
  options: BillingOperationsOptions,
): Promise<CheckoutSession> {
  const { account, customerId, customerEmail, successUrl, cancelUrl } = request;
  const { items, mode, plan } = chosenItems(request, options);
  const wrong = items.findIndex(({ quantity }) => !Number.isSafeInteger(quantity) || quantity < 1);
  if (wrong >= 0) {
    const path = `items.${wrong}.quantity`;
    throw invalidCheckout([{ path, message: "must be a whole number from 1 on" }]);
  }
  const { random, provider, codes } = options;
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
    ...{ mode, items, successUrl, cancelUrl, customerId, customerEmail, metadata },
    accountId: account,
    // The hash covers the purchase, so callers may use one idempotency key for different purchases.
    idempotencyKey: hashOf([account, mode, items, metadata, successUrl, cancelUrl, own]),
  });
}

function chosenItems(
  { planKey, items, mode }: CheckoutRequest,
  { plans, anyPrice }: BillingOperationsOptions,
) {
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

function unsupported(what: string, { name }: BillingProvider): Problem {
  return new Problem("billing-unsupported", `Cannot ${what}: ${name} does not offer this`);
}

function hashOf(parts: unknown): string {
  return createHash("sha256").update(JSON.stringify(parts)).digest("base64url");
}

/** The values that a checkout's code (an HMAC) protects against changes. */
interface CodedCheckout {
  readonly accountId: string;
  /** The prices as {@link pricesText} returns them: `id*quantity`, separated by spaces. */
  readonly prices: string;
  readonly mode: CheckoutMode;
}

interface CheckoutCodesOptions {
  /** Name of the provider. A code for one provider is invalid for another. */
  readonly provider: string;
  /** The first secret creates codes, all verify them. If null, a stored random secret is used. */
  readonly secrets: readonly string[] | null;
  readonly store: KeyValue;
  readonly random: Random;
}

/** Creates and verifies codes, which show whether a buyer changed the metadata of a checkout. */
export class CheckoutCodes {
  readonly #options: CheckoutCodesOptions;
  #keys: readonly Uint8Array[] | null = null;

  constructor(options: CheckoutCodesOptions) {
    this.#options = options;
  }

  async make(checkout: CodedCheckout): Promise<string> {
    const [key = new Uint8Array()] = await this.#loadKeys();
    return this.#codeOf(checkout, key);
  }

  async covers(metadata: Readonly<Record<string, string>>): Promise<boolean> {
    const { accountId = "", prices = "", checkoutCode = "" } = metadata;
    const mode = modes.find((one) => checkoutCode.startsWith(`${one}.`));
    if (accountId === "" || mode === undefined) return false;
    const keys = await this.#loadKeys();
    const codes = keys.map((key) => this.#codeOf({ accountId, prices, mode }, key));
    return codes.some((code) => isSameSecret(code, checkoutCode));
  }

  #codeOf({ accountId, prices, mode }: CodedCheckout, key: Uint8Array): string {
    const covered = JSON.stringify([this.#options.provider, accountId, prices, mode]);
    return `${mode}.${encodeBase64url(createHmac("sha256", key).update(covered).digest())}`;
  }

  async #loadKeys(): Promise<readonly Uint8Array[]> {
    if (this.#keys !== null) return this.#keys;
    const { secrets } = this.#options;
    // A code that was created with the stored secret stays valid after you configure a secret.
    const kept = await this.#keptSecret();
    const all = [...secrets ?? [], ...kept === null ? [] : [kept]];
    if (all.length === 0) all.push(await this.#keepSecret());
    this.#keys = all.map((secret) => deriveKey(secret, "checkout"));
    return this.#keys;
  }

  async #keptSecret(): Promise<string | null> {
    const { value } = await this.#options.store.get(billingKeys.codeSecret);
    return typeof value === "string" ? value : null;
  }

  async #keepSecret(): Promise<string> {
    const { store, random } = this.#options;
    const [key, value] = [billingKeys.codeSecret, bytesToBase64(random.bytes(32))];
    const { ok } = await store.commit({
      checks: [{ key, versionstamp: null }],
      mutations: [{ kind: "set", key, value }],
      claim: key,
    });
    // If another process has stored its own secret first, this process uses that secret.
    return ok ? value : await this.#keptSecret() ?? value;
  }
}

const modes: readonly CheckoutMode[] = ["subscription", "payment"];
