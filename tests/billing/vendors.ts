import { openBilling } from "../../src/billing/open_billing.ts";
import type { BillingOptions } from "../../src/billing/open_billing.ts";
import type { BillingEvent } from "../../src/billing/billing_event.ts";
import { lemonSqueezy } from "../../src/billing/providers/lemon_squeezy/lemon_squeezy.ts";
import { paddle } from "../../src/billing/providers/paddle/paddle.ts";
import { polar } from "../../src/billing/providers/polar/polar.ts";
import { stripe } from "../../src/billing/providers/stripe/stripe_provider.ts";
import type {
  BillingProvider,
  ProviderOptions,
} from "../../src/billing/providers/billing_provider.ts";
import {
  type Delivery,
  plans,
  secrets,
  serviceSecret,
  signed,
  type VendorName,
} from "./signing.ts";
import { createMemoryKeyValue } from "../../src/kv/memory_key_value.ts";
import type { Observation } from "../../src/runtime/runtime.ts";
import { systemRuntime } from "../../src/runtime/system_runtime.ts";
import { createApp } from "../../src/app/app.ts";
import { openDatabase } from "../../src/engines/open_database.ts";

/** A provider of each vendor, which reaches no network unless `fetch` does. */
export function providerOf(name: VendorName, options: ProviderOptions = {}): BillingProvider {
  const common = { webhookSecret: secrets[name], fetch: unreachable, ...options };
  switch (name) {
    case "stripe":
      return stripe({ apiKey: "sk_test_1", ...common });
    case "lemon-squeezy":
      return lemonSqueezy({ apiKey: "key", storeId: "1", testMode: true, ...common });
    case "paddle":
      return paddle({ apiKey: "key", ...common });
    case "polar":
      return polar({ accessToken: "token", ...common });
  }
}

const unreachable: typeof fetch = () => Promise.reject(new TypeError("no network in tests"));

export interface TestBilling {
  readonly billing: Awaited<ReturnType<typeof openBilling>>;
  readonly seen: BillingEvent[];
  readonly observations: Observation[];
  /** Sends a request to the app; a user is named by its header. */
  send(path: string, init?: RequestInit & { readonly user?: string }): Promise<Response>;
  /** Signs and sends an event; gives the status. */
  deliver(delivery: Delivery): Promise<number>;
  close(): Promise<void>;
}

/** Billing in an app, with a store in memory. */
export async function testBilling(
  name: VendorName,
  options: Partial<BillingOptions> = {},
): Promise<TestBilling> {
  const seen: BillingEvent[] = [];
  const observations: Observation[] = [];
  const runtime = systemRuntime((observation) => observations.push(observation));
  const db = await openDatabase("sqlite::memory:");
  const app = await createApp({
    db,
    runtime,
    secret: serviceSecret,
    auth: {
      middleware: async (context, next) => {
        const id = context.req.header("x-user");
        if (id !== undefined) context.set("user", { id });
        await next();
      },
    },
    resources: [],
  });
  const billing = await openBilling({
    kv: createMemoryKeyValue(runtime.clock),
    provider: providerOf(name),
    secret: serviceSecret,
    plans,
    runtime,
    onEvent: (event) => void seen.push(event),
    ...options,
  });
  app.hono.route("/api/billing", billing.routes);
  const send: TestBilling["send"] = (path, { user, headers, ...init } = {}) =>
    app.fetch(
      new Request(`http://localhost/api/billing${path}`, {
        ...init,
        headers: { ...(user === undefined ? {} : { "x-user": user }), ...Object(headers) },
      }),
    );
  return {
    billing,
    seen,
    observations,
    send,
    async deliver({ body, id }) {
      const text = JSON.stringify(body);
      const headers = signed(name, text, id === undefined ? {} : { id });
      const answer = await send("/webhook", { method: "POST", body: text, headers });
      await answer.body?.cancel();
      return answer.status;
    },
    async close() {
      await billing.close();
      await app.close();
    },
  };
}
