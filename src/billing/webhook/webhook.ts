import type { IdempotencyStore } from "../../idempotency/idempotency_store.ts";
import { StoreError } from "../../kv/store_error.ts";
import { Problem } from "../../problem/problem.ts";
import type { MaybePromise } from "../../runtime/maybe_promise.ts";
import type { Observer, Random } from "../../runtime/runtime.ts";
import type { BillingEvent, BillingPayment, NotGranted } from "../billing_event.ts";
import type { CheckoutCodes } from "../billing_operations.ts";
import type { CreditsLedger } from "../ledger/credits_ledger.ts";
import { compact } from "../providers/json_fields.ts";
import type {
  BillingProvider,
  VendorDelivery,
  VendorEvent,
  WebhookDelivery,
} from "../providers/billing_provider.ts";
import { refusedDelivery } from "../providers/webhook_signature.ts";
import { deliveryClaim, handledDelivery } from "./delivery_claims.ts";
import type { RecentDeliveries } from "./recent_deliveries.ts";
import type { AccountLinks, NewestSubscriptions } from "./newest_subscription.ts";
import { paidCredits, type PaidCreditsOptions } from "./paid_credits.ts";

/** The deployer's functions that handle events. */
export interface WebhookCallbacks {
  /** Called after the credits of an event were granted: at least once, again if the call fails. */
  readonly onEvent?: ((event: BillingEvent) => MaybePromise<unknown>) | undefined;
  /**
   * Returns an event's account; undefined for the account in the metadata. Do not trust metadata of
   * Paddle and Lemon Squeezy, or Stripe's `client_reference_id`: a browser can set them.
   */
  readonly resolveAccount?: ((event: BillingEvent) => MaybePromise<string | undefined>) | undefined;
}

export interface WebhookOptions extends WebhookCallbacks {
  readonly provider: BillingProvider;
  readonly credits: CreditsLedger;
  readonly autoGrantCredits: boolean;
  readonly paid: PaidCreditsOptions;
  readonly claims: IdempotencyStore;
  readonly random: Random;
  readonly codes: CheckoutCodes;
  readonly links: AccountLinks;
  readonly subscriptions: NewestSubscriptions;
  readonly log: RecentDeliveries;
  readonly observe: Observer;
}

export interface WebhookResponse {
  readonly received: true;
  readonly duplicate?: true;
}

/** Handles deliveries. Providers repeat failed deliveries, so each step can run again safely. */
export class Webhook {
  readonly #options: WebhookOptions;
  /** The deliveries in progress in this process. A repeated delivery waits for the first. */
  readonly #running = new Map<string, Promise<void>>();

  constructor(options: WebhookOptions) {
    this.#options = options;
  }

  /** Handles a webhook request. After an error (400, 409 or 5xx), the provider sends it again. */
  async accept(given: WebhookDelivery): Promise<WebhookResponse> {
    const { provider, observe, log } = this.#options;
    let delivery: VendorDelivery;
    try {
      delivery = await provider.readDelivery(given);
      requireMode(delivery, provider);
    } catch (error) {
      // The observation has no stack trace, because clients can send thousands of invalid requests.
      const reason = reasonOf(error);
      observe({ kind: "webhook_refused", provider: provider.name, reason });
      log.add({ id: null, events: [], outcome: "refused", reason });
      throw error;
    }
    const { id } = delivery;
    const events = delivery.events.map(({ type }) => type);
    try {
      const answer = await this.#acceptOnce(delivery);
      const outcome = answer.duplicate === true ? "duplicate" : "handled";
      log.add({ id, events, outcome, reason: null });
      return answer;
    } catch (error) {
      const isInFlight = error instanceof Problem && error.slug === "idempotency-in-flight";
      const outcome = isInFlight ? "in-flight" : "failed";
      log.add({ id, events, outcome, reason: isInFlight ? null : nameOf(error) });
      throw error;
    }
  }

  async #acceptOnce(delivery: VendorDelivery): Promise<WebhookResponse> {
    const running = this.#running.get(delivery.id);
    if (running !== undefined) {
      await running;
      return { received: true, duplicate: true };
    }
    const handled = Promise.withResolvers<void>();
    // If no repeated delivery waits for this promise, nothing else handles its rejection.
    handled.promise.catch(() => undefined);
    this.#running.set(delivery.id, handled.promise);
    try {
      const answer = await this.#handleOnce(delivery);
      handled.resolve();
      return answer;
    } catch (error) {
      handled.reject(error);
      throw error;
    } finally {
      this.#running.delete(delivery.id);
    }
  }

  async #handleOnce(delivery: VendorDelivery): Promise<WebhookResponse> {
    const { claims, observe, provider, random } = this.#options;
    const claim = deliveryClaim(provider.name, delivery.id, random);
    const { kind } = await claims.claim(claim);
    if (kind === "finished") return { received: true, duplicate: true };
    if (kind === "in-flight") {
      throw new Problem(
        "idempotency-in-flight",
        "Cannot accept this delivery yet: another process is handling its event",
        { headers: { "retry-after": "60" } },
      );
    }
    try {
      for (const event of delivery.events) await this.#handle(event, delivery.id);
    } catch (error) {
      await claims.release(claim).catch((error) => {
        // If the claim cannot be removed, it expires after a minute.
        observe({ kind: "webhook_claim_kept", provider: provider.name, error });
      });
      throw asServerFault(error);
    }
    await claims.finish(claim, handledDelivery);
    return { received: true };
  }

  async #handle(given: VendorEvent, deliveryId: string): Promise<void> {
    const { onEvent, autoGrantCredits } = this.#options;
    const event = await this.#complete(given, deliveryId);
    if (autoGrantCredits) await this.#grant(event);
    await onEvent?.(event);
  }

  async #complete(given: VendorEvent, deliveryId: string): Promise<BillingEvent> {
    const { provider, subscriptions, paid } = this.#options;
    const { payment, subscription: reported, occurredAt } = given;
    const subscription = reported === undefined ? undefined : await subscriptions.report({
      ...{ subscription: reported, occurredAt, deliveryId },
      ...compact({ itemChangedAt: given.itemChangedAt }),
      isFirst: given.type === "subscription.created",
    });
    const event: BillingEvent = {
      ...factsOf(given),
      provider: provider.name,
      ...compact({ subscription }),
      ...(payment === undefined ? {} : { payment: paymentOf(payment) }),
      ...await paidCredits(given, paid),
    };
    return { ...event, ...await this.#attribute(event, given) };
  }

  async #attribute(event: BillingEvent, given: VendorEvent): Promise<Attribution> {
    const { provider, links, observe } = this.#options;
    const named = await this.#namedAccount(event, given.isMetadataOfServer === true);
    const { customerId } = event;
    const isLinking = provider.findsCustomerByEmail === true ? isPaid(given) : isPurchase(given);
    if (named !== undefined && customerId !== undefined && isLinking) {
      const isLinked = await links.remember(named.id, customerId, named.isOfDeployer);
      if (isLinked) return { accountId: named.id };
      observe({ kind: "customer_not_linked", provider: provider.name, customer: customerId });
      return { accountId: named.id, isCustomerOfOther: true };
    }
    const accountId = named?.id ?? await this.#accountOfCustomer(customerId);
    if (accountId !== undefined) return { accountId };
    return event.creditsToGrant === undefined ? {} : { notGranted: "no-account" };
  }

  async #namedAccount(event: BillingEvent, isOfServer: boolean) {
    const resolved = await this.#options.resolveAccount?.(event);
    if (resolved !== undefined) return { id: resolved, isOfDeployer: true };
    const { metadata = {} } = event;
    const isBelieved = isOfServer || await this.#options.codes.covers(metadata);
    const id = metadata.accountId || metadata.userId;
    return isBelieved && id ? { id, isOfDeployer: false } : undefined;
  }

  async #accountOfCustomer(customerId: string | undefined): Promise<string | undefined> {
    if (customerId === undefined) return undefined;
    return await this.#options.links.accountOf(customerId) ?? customerId;
  }

  /** Grants the credits of a payment only once, even if several events report the payment. */
  async #grant(event: BillingEvent): Promise<void> {
    const { credits, provider, observe } = this.#options;
    const { type, payment, accountId, creditsToGrant, planKey, notGranted } = event;
    if (type !== "payment.succeeded" || payment === undefined) return;
    if (creditsToGrant === undefined) {
      if (notGranted === undefined || isExpected(notGranted)) return;
      const reason = notGranted;
      observe({ kind: "ungranted_money", provider: provider.name, payment: payment.id, reason });
      return;
    }
    if (accountId === undefined) {
      observe({ kind: "unattributed_money", provider: provider.name, payment: payment.id });
      return;
    }
    const key = `grant:${provider.name}:${payment.id}`;
    const { account, amount } = await credits.findGrant(key) ??
      { account: accountId, amount: creditsToGrant };
    await credits.grant(account, amount, { key, reason: planKey });
  }
}

function isExpected(reason: NotGranted): boolean {
  return reason === "no-credits" || reason === "other-event";
}

function requireMode({ isLive }: VendorDelivery, provider: BillingProvider): void {
  if (isLive === null || provider.isLive === null || isLive === provider.isLive) return;
  throw refusedDelivery(`it is of ${isLive ? "live" : "test"} mode`);
}

function factsOf(event: VendorEvent): Omit<BillingEvent, "provider" | "payment" | "subscription"> {
  const { id, type, occurredAt, raw, customerId, metadata } = event;
  return { id, type, occurredAt, ...compact({ customerId, metadata }), raw };
}

type Attribution = Pick<BillingEvent, "accountId" | "isCustomerOfOther" | "notGranted">;

/** Returns true if money was paid. Trials do not count, because anyone can start a trial. */
function isPaid({ type, payment }: VendorEvent): boolean {
  return type === "payment.succeeded" && (payment?.amount ?? payment?.netAmount ?? 1) > 0;
}

function isPurchase({ type, isUnpaid, subscription }: VendorEvent): boolean {
  switch (type) {
    case "payment.succeeded":
      return true;
    case "checkout.completed":
      return isUnpaid !== true;
    case "subscription.created":
      return subscription?.status === "active" || subscription?.status === "trialing";
    default:
      return false;
  }
}

function reasonOf(error: unknown): string {
  if (!(error instanceof Error)) return "unknown";
  return error.cause instanceof Error ? error.cause.message : error.message;
}

/** Returns the name of an error without its message, which can contain private data. */
function nameOf(error: unknown): string {
  const cause = error instanceof Error ? error.cause ?? error : error;
  return cause instanceof Error ? cause.name : typeof cause;
}

function paymentOf({ id, amount, currency }: NonNullable<VendorEvent["payment"]>): BillingPayment {
  return { id, ...compact({ amount, currency }) };
}

/** Converts any error to a 5xx, so that the provider repeats the delivery. */
function asServerFault(error: unknown): unknown {
  const isFault = error instanceof StoreError || error instanceof Problem && error.status >= 500;
  return isFault
    ? error
    : new Error("The event of a webhook could not be handled", { cause: error });
}
