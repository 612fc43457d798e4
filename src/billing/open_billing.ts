import type { Hono } from "@hono/hono";
import { BucketStore } from "../guard/budget/bucket_store.ts";
import { RateLimiter } from "../guard/budget/request_budget.ts";
import { fixedWindowPolicy } from "../guard/budget/token_bucket.ts";
import {
  protectionOptionRules,
  type RateLimitOptions,
} from "../guard/resource_protection_options.ts";
import {
  type KeyValueOption,
  keyValueOptionRule,
  openKeyValueStore,
} from "../kv/open_key_value_store.ts";
import { openStoreByUrl } from "../engines/open_driver.ts";
import { either, groupOf, listOf } from "../options/option.ts";
import { callback, flag, objectWith, off, testedValue } from "../options/option_kinds.ts";
import { consoleObserver } from "../runtime/console_observer.ts";
import { envOptionRule, isInProduction } from "../runtime/production.ts";
import type { Runtime } from "../runtime/runtime.ts";
import { findSecrets, secretOptionRule } from "../runtime/resolve_secrets.ts";
import { systemRuntime } from "../runtime/system_runtime.ts";
import { type BillingPlan, BillingPlans, plansOptionRule } from "./billing_plan.ts";
import {
  type BillingOperations,
  CheckoutCodes,
  createBillingOperations,
} from "./billing_operations.ts";
import type { CreditsLedger } from "./ledger/credits_ledger.ts";
import { KvLedger } from "./ledger/kv_ledger.ts";
import type { BillingProvider } from "./providers/billing_provider.ts";
import {
  type BillingResolvers,
  createBillingRoutes,
  type UserResolver,
} from "./routes/billing_routes.ts";
import { createDeliveryClaims } from "./webhook/delivery_claims.ts";
import { type ReceivedDelivery, RecentDeliveries } from "./webhook/recent_deliveries.ts";
import { AccountLinks, NewestSubscriptions } from "./webhook/newest_subscription.ts";
import { Webhook, type WebhookCallbacks } from "./webhook/webhook.ts";

/** The options of {@link openBilling}. */
export interface BillingOptions extends WebhookCallbacks {
  /** The payment provider: `stripe`, `lemonSqueezy`, `paddle`, `polar`, or a custom one. */
  readonly provider: BillingProvider;
  /** The store of balances and events, such as a path or `:memory:`. The app can use this store. */
  readonly kv: KeyValueOption;
  /** The plans that users can buy. Prices without a plan grant no credits. */
  readonly plans?: readonly BillingPlan[] | undefined;
  /** True if payments grant the credits of the paid plans. Default: true. */
  readonly autoGrantCredits?: boolean | undefined;
  /** True if payments of the amount 0, such as trials, grant credits. Default: false. */
  readonly grantOnZeroAmount?: boolean | undefined;
  /** Functions that return the account, customer and email address of a user. */
  readonly resolvers?: BillingResolvers | undefined;
  /** The allowed origins of a checkout's return URLs. Default: the origin of the request. */
  readonly returnOrigins?: readonly string[] | undefined;
  /** True if a checkout may contain prices that belong to no plan. Default: false. */
  readonly anyPrice?: boolean | undefined;
  /**
   * The secret for the codes that prove that this service created a checkout. In a list, the first
   * creates codes, and each verifies codes. Default: `SERVICE_SECRET`, or a random secret in `kv`.
   */
  readonly secret?: string | readonly string[] | undefined;
  /** True if webhook deliveries need no valid signature, even in production. Default: false. */
  readonly allowUnsigned?: boolean | undefined;
  /** How often each user may call the provider; false for no limit. Default: 30 a minute. */
  readonly rateLimit?: false | RateLimitOptions | undefined;
  /** The environment. `production` requires a webhook secret. Default: `SERVICE_ENV`. */
  readonly env?: "development" | "production" | undefined;
  /** Clock, randomness, environment and observer. Default: those of the platform. */
  readonly runtime?: Runtime | undefined;
}

export const billingOptionRules = groupOf<BillingOptions>()({
  provider: objectWith<BillingProvider>("a provider, like stripe(…)", "readDelivery").required(),
  kv: keyValueOptionRule().required(),
  plans: plansOptionRule,
  autoGrantCredits: flag().default(true),
  grantOnZeroAmount: flag().default(false),
  resolvers: groupOf<BillingResolvers>()({
    account: callback<UserResolver>(),
    customerId: callback<UserResolver>(),
    customerEmail: callback<UserResolver>(),
  }).default({}),
  returnOrigins: listOf(
    'origins, like "https://example.com"',
    testedValue<string>("an origin", (given) => {
      const url = typeof given === "string" ? URL.parse(given) : null;
      // The host of a URL may contain `*`. No request has such an origin, so the option is invalid.
      return url !== null && /^https?:$/.test(url.protocol) && url.origin === given &&
        !url.hostname.includes("*");
    }),
  ),
  anyPrice: flag().default(false),
  secret: secretOptionRule(),
  allowUnsigned: flag().default(false),
  rateLimit: either(
    off(),
    protectionOptionRules.rateLimit,
  ).default({ windowMs: 60_000, maxRequests: 30 }),
  onEvent: callback<NonNullable<WebhookCallbacks["onEvent"]>>(),
  resolveAccount: callback<NonNullable<WebhookCallbacks["resolveAccount"]>>(),
  env: envOptionRule,
  runtime: runtimeOption(),
}).required();

/** The billing of a service: its routes, its operations at the provider, and the credits. */
export interface Billing extends BillingOperations {
  /** The routes for the app: `app.hono.route("/api/billing", billing.routes)`. */
  readonly routes: Hono;
  /** The credits ledger, which is in the same store as the billing events. */
  readonly credits: CreditsLedger;
  /** Returns the last webhook deliveries to this process, newest first. */
  deliveries(): readonly ReceivedDelivery[];
  /** Closes the store, unless you passed an open store to `openBilling`. */
  close(): Promise<void>;
}

/**
 * Opens billing with a provider: checkouts, subscriptions, the credits ledger, and a webhook that
 * grants credits once for each payment.
 *
 * @throws {Error} If an option is invalid. The message names the option.
 * @example
 * ```ts
 * import { openBilling, paddle } from "@svc/resource-api/billing";
 *
 * const billing = await openBilling({
 *   kv: ":memory:",
 *   provider: paddle({ apiKey: "key", webhookSecret: "pdl_ntfset_1234" }),
 *   plans: [{ key: "pro", priceId: "pri_1", credits: 500 }],
 *   returnOrigins: ["https://example.com"],
 * });
 * // app.hono.route("/api/billing", billing.routes);
 * console.log(await billing.credits.balance("ada")); // 0
 * await billing.close();
 * ```
 */
export async function openBilling(options: BillingOptions): Promise<Billing> {
  const read = billingOptionRules.read(options, { subject: "Cannot open billing", path: "" });
  const { kv, runtime = systemRuntime(consoleObserver()) } = read;
  const plans = new BillingPlans(read.plans);
  requireSecret(read, runtime);
  const store = await openKeyValueStore(kv, runtime, openStoreByUrl);
  const kept = store.need("credits");
  const buckets = new BucketStore(kept, runtime);
  const close = async () => {
    await buckets.close();
    if (typeof kv === "string") await store.close();
  };
  const credits = new KvLedger(kept, runtime, close);
  const { provider, anyPrice, grantOnZeroAmount, onEvent, resolveAccount } = read;
  const { random, clock, observe } = runtime;
  const links = new AccountLinks(provider, kept);
  const subscriptions = new NewestSubscriptions(provider.name, kept, async (id) => {
    // If the provider does not respond, the caller uses a state that a delivery contained.
    return await provider.getSubscription(id).catch(() => null);
  });
  const { secret: given, resolvers, rateLimit } = read;
  const secrets = findSecrets({ given, option: "secret", variable: "SERVICE_SECRET" }, runtime);
  const codes = new CheckoutCodes({ provider: provider.name, secrets, store: kept, random });
  const operations = createBillingOperations({ provider, plans, anyPrice, codes, random });
  const log = new RecentDeliveries(clock);
  const webhook = new Webhook({
    provider,
    credits,
    autoGrantCredits: read.autoGrantCredits,
    paid: { provider, plans, grantOnZeroAmount, terms: (id) => subscriptions.terms(id) },
    claims: createDeliveryClaims(kept, clock),
    random,
    codes,
    links,
    subscriptions,
    log,
    observe,
    onEvent,
    resolveAccount,
  });
  const accountOf: UserResolver = resolvers.account ?? (({ id }) => id);
  const routes = createBillingRoutes({
    provider,
    operations,
    credits,
    webhook,
    resolvers: {
      account: accountOf,
      customerId: resolvers.customerId ?? (async (user, request) => {
        const account = await accountOf(user, request);
        return account === undefined ? undefined : await links.customerOf(account);
      }),
      customerEmail: resolvers.customerEmail ?? (({ email }) => email),
    },
    returnOrigins: read.returnOrigins ?? null,
    rateLimiter: rateLimit === false
      ? null
      : new RateLimiter("billing", fixedWindowPolicy("requests", rateLimit), buckets, clock),
    clock,
  });
  return { routes, credits, ...operations, deliveries: () => log.deliveries, close };
}

/** Requires a webhook secret in production. Without a secret, any sender could grant credits. */
function requireSecret(
  { provider, allowUnsigned, env }: Pick<BillingOptions, "provider" | "allowUnsigned" | "env">,
  runtime: Runtime,
): void {
  if (provider.isSigned) return;
  if (isInProduction(env, runtime) && allowUnsigned !== true) {
    throw new Error(
      `Cannot open billing in production: ${provider.name} has no webhookSecret, so that every ` +
        "sender could grant credits (allowUnsigned: true accepts that)",
    );
  }
  runtime.observe({
    kind: "notice",
    message: `no webhookSecret is set: every delivery in the name of ${provider.name} is believed`,
  });
}

/** The options of {@link openCreditsLedger}. */
export interface CreditsLedgerOptions {
  /** The store of the balances, such as a path or `:memory:`. The app can use the same store. */
  readonly kv: KeyValueOption;
  /** Clock, randomness, environment and observer. Default: those of the platform. */
  readonly runtime?: Runtime | undefined;
}

function runtimeOption() {
  return objectWith<Runtime>(
    "an object with clock, random, observe and environment",
    ...["clock", "random", "observe", "environment"],
  );
}

export const creditsLedgerOptionRules = groupOf<CreditsLedgerOptions>()({
  kv: keyValueOptionRule().required(),
  runtime: runtimeOption(),
}).required();

/**
 * Opens a credits ledger in a key-value store.
 *
 * @throws {Error} If an option is invalid. The message names the option.
 * @example
 * ```ts
 * import { openCreditsLedger } from "@svc/resource-api/billing";
 *
 * const credits = await openCreditsLedger({ kv: ":memory:" });
 * await credits.grant("ada", 50, { reason: "welcome" });
 * console.log(await credits.consume("ada", 20)); // { ok: true, balance: 30, replayed: false }
 * console.log(await credits.consume("ada", 31)); // { ok: false, balance: 30, replayed: false }
 * const [last] = await credits.history("ada", 1);
 * console.log(last?.kind, last?.amount, last?.balance); // consume -20 30
 * await credits.close();
 * ```
 */
export async function openCreditsLedger(options: CreditsLedgerOptions): Promise<CreditsLedger> {
  const place = { subject: "Cannot open the ledger", path: "" };
  const { kv, runtime = systemRuntime(consoleObserver()) } = creditsLedgerOptionRules.read(
    options,
    place,
  );
  const store = await openKeyValueStore(kv, runtime, openStoreByUrl);
  return new KvLedger(store.need("credits"), runtime, async () => {
    if (typeof kv === "string") await store.close();
  });
}
