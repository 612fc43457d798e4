import { type Context, Hono } from "@hono/hono";
import { parseUser, type User } from "../../auth/authorize.ts";
import type { RateLimiter } from "../../guard/budget/request_budget.ts";
import { Problem } from "../../problem/problem.ts";
import type { MaybePromise } from "../../runtime/maybe_promise.ts";
import { type Clock, deadline } from "../../runtime/runtime.ts";
import { type BillingOperations, portalOf } from "../billing_operations.ts";
import type { CreditsLedger } from "../ledger/credits_ledger.ts";
import type { BillingProvider } from "../providers/billing_provider.ts";
import type { Webhook } from "../webhook/webhook.ts";
import { withRouteDescription } from "../../protocol/route_description.ts";
import { billingDescriptions } from "./billing_descriptions.ts";
import { parseCheckoutBody } from "./checkout_body.ts";
import { requireReturnUrl } from "./require_return_url.ts";
import { readBytes } from "../../runtime/read_bytes.ts";

/** Returns a user's account id, customer id or email address, or undefined if there is none. */
export type UserResolver = (user: User, request: Request) => MaybePromise<string | undefined>;

/** The deployer's functions that determine who pays. Request bodies cannot override the results. */
export interface BillingResolvers {
  /** Returns the account that receives the credits. Default: the id of the user. */
  readonly account?: UserResolver | undefined;
  /** Returns the provider's customer id. Default: the customer who has paid for the account. */
  readonly customerId?: UserResolver | undefined;
  /** Returns the email address to show in a checkout. Default: the user's, else the request's. */
  readonly customerEmail?: UserResolver | undefined;
}

export type BillingUserResolvers = Readonly<Record<keyof BillingResolvers, UserResolver>>;

export interface BillingRoutesOptions {
  readonly provider: BillingProvider;
  readonly operations: BillingOperations;
  readonly credits: CreditsLedger;
  readonly webhook: Webhook;
  readonly resolvers: BillingUserResolvers;
  readonly returnOrigins: readonly string[] | null;
  readonly rateLimiter: RateLimiter | null;
  readonly clock: Clock;
}

export function createBillingRoutes(options: BillingRoutesOptions): Hono {
  const { provider, operations, credits, webhook, resolvers, clock } = options;
  const routes = new Hono();
  const add = (
    method: "GET" | "POST",
    name: keyof typeof billingDescriptions,
    handler: (context: Context) => Promise<Response>,
  ) => routes.on(method, `/${name}`, withRouteDescription(billingDescriptions[name], handler));

  add("POST", "checkout", (context) => beginCheckout(context, options));

  add("GET", "subscription", async (context) => {
    const user = await limitedUser(context, options);
    const customerId = await resolvers.customerId(user, context.req.raw);
    const subscriptions = customerId === undefined
      ? []
      : await operations.listSubscriptions(customerId);
    return answer(context, { subscriptions });
  });

  add("POST", "portal", async (context) => {
    const createPortal = portalOf(provider);
    const user = await limitedUser(context, options);
    const customerId = await resolvers.customerId(user, context.req.raw);
    if (customerId === undefined) {
      throw new Problem("not-found", "Cannot open the portal: this user has paid for nothing yet");
    }
    const [returnUrl] = options.returnOrigins ?? [];
    return answer(context, await createPortal(customerId, returnUrl));
  });

  add("GET", "credits", async (context) => {
    const user = requireUser(context);
    const account = await accountOf(user, context.req.raw, resolvers);
    return answer(context, { balance: await credits.balance(account) });
  });

  add("POST", "webhook", async (context) => {
    const body = await readRequestBytes(context, clock);
    const { headers } = context.req.raw;
    return answer(context, await webhook.accept({ body, headers, now: clock.now() }));
  });

  return routes;
}

async function beginCheckout(context: Context, options: BillingRoutesOptions): Promise<Response> {
  const { operations, resolvers, clock } = options;
  const user = await limitedUser(context, options);
  const request = context.req.raw;
  requireJson(context);
  const { successUrl, cancelUrl, customerEmail, ...body } = parseCheckoutBody(
    await readRequestBytes(context, clock),
  );
  const origins = options.returnOrigins ?? [new URL(context.req.url).origin];
  const session = await operations.checkout({
    ...body,
    account: await accountOf(user, request, resolvers),
    customerId: await resolvers.customerId(user, request),
    customerEmail: await resolvers.customerEmail(user, request) ?? customerEmail,
    successUrl: requireReturnUrl("successUrl", successUrl, origins),
    cancelUrl: requireReturnUrl("cancelUrl", cancelUrl, origins),
    idempotencyKey: context.req.header("idempotency-key"),
  });
  return answer(context, { id: session.id, url: session.url });
}

function answer(context: Context, body: object): Response {
  return context.json(body, 200, { "cache-control": "private, no-store" });
}

function requireUser(context: Context): User {
  const user = parseUser(context.get("user"));
  if (user === null) throw new Problem("unauthorized", "Billing needs a user: sign in first");
  return user;
}

async function limitedUser(
  context: Context,
  { rateLimiter, clock }: BillingRoutesOptions,
): Promise<User> {
  const user = requireUser(context);
  if (rateLimiter === null) return user;
  const { isGranted, limit, left } = await rateLimiter.take(user.id, 1);
  if (isGranted) return user;
  const waitMs = limit.waitMs(left, 1, clock.now());
  throw new Problem("rate-limit-exceeded", "Too many billing requests of this user", {
    headers: { "retry-after": String(Math.max(1, Math.ceil(waitMs / 1000))) },
  });
}

async function accountOf(
  user: User,
  request: Request,
  { account }: BillingUserResolvers,
): Promise<string> {
  const name = await account(user, request);
  if (name === undefined) throw new Problem("forbidden", "This user has no billing account");
  return name;
}

/** Rejects form bodies: a page of another site can send a form with cookies, but not JSON. */
function requireJson({ req }: Context): void {
  const [type = ""] = (req.header("content-type") ?? "").split(";");
  if (type.trim().toLowerCase() === "application/json") return;
  throw new Problem(
    "unsupported-media-type",
    "Cannot read this body: send it with the header content-type: application/json",
  );
}

/** Returns the body's bytes unchanged, because a webhook's signature is computed over them. */
async function readRequestBytes({ req }: Context, clock: Clock): Promise<Uint8Array<ArrayBuffer>> {
  // A body that a middleware read as a string is refused, because decoding may have changed it.
  if (Object.keys(req.bodyCache)[0] === "arrayBuffer") {
    const bytes = new Uint8Array(await req.arrayBuffer());
    if (bytes.length > maxBytes) throw tooLarge();
    return bytes;
  }
  if (req.raw.bodyUsed || Object.keys(req.bodyCache).length > 0) {
    throw new Error(
      "A middleware has consumed the body of a billing request: take it from a clone",
    );
  }
  const tooLate = () => new Problem("request-timeout", "The body did not arrive in time");
  try {
    const reading = readBytes(req.raw.body, { limit: maxBytes });
    const bytes = await deadline(maxWaitMs, clock, tooLate).within(reading);
    if (typeof bytes === "string") throw tooLarge();
    return bytes;
  } catch (cause) {
    if (cause instanceof Problem) throw cause;
    throw new Problem("invalid-body", "The body ended before it was complete", { cause });
  }
}

/** Maximum size of a body in bytes. The size of a provider's event is a few KiB. */
const maxBytes = 1024 * 1024;

const maxWaitMs = 10_000;

function tooLarge(): Problem {
  return new Problem(
    "payload-too-large",
    `Cannot read this body: it is larger than ${maxBytes} bytes`,
    { headers: { connection: "close" } },
  );
}
