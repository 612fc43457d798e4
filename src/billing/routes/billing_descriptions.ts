import type { ProblemSlug } from "../../protocol/problem_codes.ts";
import { objectSchema, type RouteDescription } from "../../protocol/route_description.ts";

const text = { type: "string" };
const url = { type: "string", description: "A URL of an allowed origin." };

const ofUser: readonly ProblemSlug[] = [
  ...["invalid-parameter", "unauthorized", "forbidden", "rate-limit-exceeded"] as const,
  ...["internal-error", "billing-failed", "store-unavailable"] as const,
];
const ofBody: readonly ProblemSlug[] = [
  ...["invalid-body", "request-timeout", "payload-too-large", "unsupported-media-type"] as const,
  ...["validation-error"] as const,
];

const subscription = {
  ...objectSchema({
    ...{ id: text, customerId: text, status: text, "priceId?": text, provider: text },
    ...{ "currentPeriodStart?": text, "currentPeriodEnd?": text },
    ...{ "cancelAtPeriodEnd?": { type: "boolean" }, "metadata?": { type: "object" } },
  }),
};

const routes = { tag: "Billing", needsUser: true } as const;

export const billingDescriptions = {
  checkout: {
    ...routes,
    id: "createCheckout",
    summary: "Begins a checkout of a plan, or of items",
    body: objectSchema({
      "planKey?": text,
      "items?": {
        type: "array",
        minItems: 1,
        maxItems: 20,
        items: objectSchema({ priceId: text, "quantity?": { type: "integer", minimum: 1 } }),
      },
      "mode?": { type: "string", enum: ["subscription", "payment"] },
      ...{ "successUrl?": url, "cancelUrl?": url },
      "customerEmail?": { type: "string", format: "email" },
      "metadata?": { type: "object", additionalProperties: text },
    }),
    answers: { 200: { schema: objectSchema({ id: text, url: text }) } },
    problems: [...ofUser, ...ofBody, "not-found", "conflict", "billing-unsupported"],
  },
  subscription: {
    ...routes,
    id: "listSubscriptions",
    summary: "The subscriptions of the user",
    answers: {
      200: { schema: objectSchema({ subscriptions: { type: "array", items: subscription } }) },
    },
    problems: ofUser,
  },
  portal: {
    ...routes,
    id: "openPortal",
    summary: "Opens the portal of the provider",
    answers: { 200: { schema: objectSchema({ url: text }) } },
    problems: [...ofUser, "not-found", "billing-unsupported"],
  },
  credits: {
    ...routes,
    id: "getCredits",
    summary: "The balance of the user's account",
    answers: { 200: { schema: objectSchema({ balance: { type: "integer" } }) } },
    problems: ofUser,
  },
  webhook: {
    ...routes,
    id: "receiveWebhook",
    needsUser: false,
    summary: "Takes an event of the provider, by its signature",
    body: { type: "object", description: "As the provider signs it, in its header." },
    answers: {
      200: {
        schema: objectSchema({
          received: { type: "boolean", enum: [true] },
          "duplicate?": { type: "boolean" },
        }),
      },
    },
    problems: [
      ...["invalid-parameter", "webhook-signature-invalid", "request-timeout"] as const,
      ...["payload-too-large", "internal-error", "billing-failed", "store-unavailable"] as const,
    ],
  },
} as const satisfies Readonly<Record<string, RouteDescription>>;
