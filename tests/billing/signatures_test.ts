import { assert, assertEquals, assertRejects } from "@std/assert";
import { createHmac } from "node:crypto";
import { Paddle } from "@paddle/paddle-node-sdk";
import { validateEvent } from "@polar-sh/sdk/webhooks";
import { Webhook as StandardWebhook } from "standardwebhooks";
import Stripe from "stripe";
import { paddle } from "../../src/billing/providers/paddle/paddle.ts";
import { polar } from "../../src/billing/providers/polar/polar.ts";
import type { BillingProvider } from "../../src/billing/providers/billing_provider.ts";
import { Problem } from "../../src/problem/problem.ts";
import { sequences } from "./payments.ts";
import { secrets, signed, type VendorName, vendorNames } from "./signing.ts";
import { providerOf, testBilling } from "./vendors.ts";

const now = 1_790_000_000_000;

/** A genuine body of each vendor. */
function bodyOf(vendor: VendorName): string {
  const found = sequences.find((one) => one.vendor === vendor)?.deliveries[0]?.body;
  return JSON.stringify(found);
}

interface Trial {
  readonly body: string | Uint8Array;
  readonly headers: Record<string, string>;
  readonly at?: number;
}

/** Whether the provider believes a delivery. */
async function believes(provider: BillingProvider, { body, headers, at = now }: Trial) {
  const bytes = new Uint8Array(typeof body === "string" ? new TextEncoder().encode(body) : body);
  try {
    await provider.readDelivery({ body: bytes, headers: new Headers(headers), now: at });
    return true;
  } catch (error) {
    if (!(error instanceof Problem)) throw error;
    // Whatever a vendor sends is believed once its signature is right.
    if (error.slug === "invalid-body") return true;
    assertEquals([error.slug, error.status], ["webhook-signature-invalid", 400]);
    assertEquals(error.message, "Cannot accept this delivery: its signature is not valid");
    return false;
  }
}

/** The vendor's own code: throws or gives false for a signature that is wrong. */
const oracles: Partial<
  Record<VendorName, (body: string, headers: Record<string, string>) => unknown>
> = {
  stripe: (body, headers) =>
    new Stripe("sk_test_1").webhooks.constructEventAsync(
      body,
      headers["stripe-signature"] ?? "",
      secrets.stripe,
    ),
  paddle: (body, headers) =>
    new Paddle("key").webhooks.isSignatureValid(
      body,
      secrets.paddle,
      headers["paddle-signature"] ?? "",
    ),
  polar: (body, headers) => {
    try {
      return validateEvent(body, headers, secrets.polar);
    } catch (error) {
      // The shape of its payloads is another question than the signature.
      if (error instanceof Error && error.name === "SDKValidationError") return true;
      throw error;
    }
  },
};

async function oracleBelieves(vendor: VendorName, body: string, headers: Record<string, string>) {
  try {
    return await oracles[vendor]?.(body, headers) !== false;
  } catch (error) {
    assert(error instanceof Error);
    return false;
  }
}

for (const vendor of vendorNames) {
  const body = bodyOf(vendor);
  const provider = providerOf(vendor);
  const hasTime = vendor !== "lemon-squeezy";

  // Lemon Squeezy's library verifies nothing.
  if (oracles[vendor] !== undefined) {
    Deno.test(`${vendor}: what the vendor's own code believes or refuses, so does the provider`, async () => {
      const at = Date.now();
      const good = signed(vendor, body, { at });
      const trials: readonly (readonly [string, Record<string, string>])[] = [
        [body, good],
        [`${body} `, good],
        [JSON.stringify(JSON.parse(body), null, 2), good],
        [body.replace("ada", "bob"), good],
        [body, signed(vendor, body, { at, secret: "whsec_another" })],
        [body, signed(vendor, body, { at: at - 3_600_000 })],
        [body, {}],
      ];
      for (const [index, [text, headers]] of trials.entries()) {
        const ours = await believes(provider, { body: text, headers, at });
        assertEquals([index, ours], [index, index === 0]);
        assertEquals(await oracleBelieves(vendor, text, headers), ours, `trial ${index}`);
      }
    });
  }

  Deno.test(`${vendor}: every changed byte of body and signature is refused`, async () => {
    const headers = signed(vendor, body, { at: now });
    assert(await believes(provider, { body, headers }));
    const bytes = new TextEncoder().encode(body);
    for (let at = 0; at < bytes.length; at += 7) {
      const changed = bytes.map((byte, index) => index === at ? byte ^ 1 : byte);
      assertEquals(await believes(provider, { body: changed, headers }), false);
    }
    for (const tail of ["\n", "\r\n", "\ufeff", "\0"]) {
      assertEquals(await believes(provider, { body: body + tail, headers }), false);
      assertEquals(await believes(provider, { body: tail + body, headers }), false);
    }
    const [name = "", value = ""] = Object.entries(headers).at(-1) ?? [];
    for (let at = 0; at < value.length; at++) {
      const other = value[at] === "0" ? "1" : "0";
      const changed = { ...headers, [name]: value.slice(0, at) + other + value.slice(at + 1) };
      assertEquals(await believes(provider, { body, headers: changed }), false, changed[name]);
    }
    for (const wrong of ["", " ", "x", "=", ",", "v1=", value.slice(0, -1), "v1,", "é"]) {
      const changed = { ...headers, [name]: encodeURI(wrong) };
      assertEquals(await believes(provider, { body, headers: changed }), false, wrong);
    }
  });

  Deno.test(`${vendor}: an old signature and one of the future are refused beyond 300 s`, async () => {
    for (const seconds of [-301, -300, 0, 300, 301, 3_600, 86_400 * 365]) {
      const headers = signed(vendor, body, { at: now + seconds * 1_000 });
      const isNear = Math.abs(seconds) <= 300;
      assertEquals(await believes(provider, { body, headers }), isNear || !hasTime, `${seconds}`);
    }
  });

  Deno.test(`${vendor}: during a rotation either secret is right, also as the last of several codes`, async () => {
    const both = providerOf(vendor, { webhookSecret: ["whsec_new", secrets[vendor]] });
    const [fresh, old, foreign] = ["whsec_new", secrets[vendor], "whsec_other"]
      .map((secret) => signed(vendor, body, { at: now, secret }));
    assert(fresh !== undefined && old !== undefined && foreign !== undefined);
    for (const [headers, isRight] of [[fresh, true], [old, true], [foreign, false]] as const) {
      assertEquals(await believes(both, { body, headers }), isRight);
    }
    if (vendor === "lemon-squeezy") return;
    for (const list of [[foreign, old], [old, foreign], [foreign, foreign]]) {
      const headers = several(vendor, list);
      assertEquals(await believes(provider, { body, headers }), list.includes(old));
    }
    const many = several(vendor, [...Array(20).fill(foreign), old]);
    assertEquals(await believes(provider, { body, headers: many }), false, "too many codes");
  });

  Deno.test(`${vendor}: without a secret production does not start`, async () => {
    const unsigned = providerOf(vendor, { webhookSecret: undefined });
    const error = await assertRejects(
      () => testBilling(vendor, { provider: unsigned, env: "production" }),
      Error,
    );
    assert(error.message.includes("webhookSecret"), error.message);
    const development = await testBilling(vendor, { provider: unsigned });
    assertEquals(development.observations.filter(({ kind }) => kind === "notice").length, 1);
    await development.close();
    await (await testBilling(vendor, {
      ...{ provider: unsigned, env: "production", allowUnsigned: true },
    })).close();
  });

  Deno.test(`${vendor}: over HTTP a refusal is 400, and its reason is observed alone`, async () => {
    const world = await testBilling(vendor);
    const answer = await world.send("/webhook", { method: "POST", body, headers: {} });
    assertEquals(answer.status, 400);
    const text = await answer.text();
    assert(!text.includes("header"), text);
    assertEquals(world.observations.map(({ kind }) => kind), ["webhook_refused"]);
    assertEquals(world.seen, []);
    await world.close();
  });
}

Deno.test("Stripe: a timestamp that is no number is refused, which Stripe's library accepts", async () => {
  const body = bodyOf("stripe");
  for (const time of ["NaN", "", "-1", "1e9", "1790000000.5", " 1790000000", "9".repeat(13)]) {
    const code = createHmac("sha256", secrets.stripe).update(`${time}.${body}`).digest("hex");
    const headers = { "stripe-signature": `t=${time},v1=${code}` };
    const isNumber = time.trim() === "1790000000";
    assertEquals(await believes(providerOf("stripe"), { body, headers }) && !isNumber, false, time);
  }
  const good = signed("stripe", body, { at: now })["stripe-signature"] ?? "";
  const twice = { "stripe-signature": `t=1,${good}` };
  assertEquals(await believes(providerOf("stripe"), { body, headers: twice }), false);
});

Deno.test("Stripe: headers of its own generator are believed", async () => {
  const payload = bodyOf("stripe");
  const header = await new Stripe("sk_test_1").webhooks.generateTestHeaderStringAsync({
    ...{ payload, secret: secrets.stripe, timestamp: now / 1_000 },
  });
  const headers = { "stripe-signature": header };
  assert(await believes(providerOf("stripe"), { body: payload, headers }));
});

Deno.test("the published vectors of Paddle and of Standard Webhooks are believed", async () => {
  const ofPaddle = paddle({ apiKey: "key", webhookSecret: "VALID_SECRET" });
  assert(
    await believes(ofPaddle, {
      body: '{"data": ["1", "2"]}',
      headers: {
        "paddle-signature":
          "ts=1698796800;h1=a300428748dce5c70e4da19bffd60769591ea969c99dea3105d0ec9612cf43f9",
      },
      at: 1_698_796_800_000,
    }),
  );
  const ofStandard = polar({
    accessToken: "token",
    webhookSecret: "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw",
  });
  const headers = {
    "webhook-id": "msg_p5jXN8AQM9LWM0D4loKWxJek",
    "webhook-timestamp": "1614265330",
    "webhook-signature": "v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE=",
  };
  const body = '{"test": 2432232314}';
  assert(await believes(ofStandard, { body, headers, at: 1_614_265_330_000 }));
});

Deno.test("Polar: a signature of the Standard Webhooks library, over the decoded secret, is believed", async () => {
  const body = bodyOf("polar");
  const time = new Date(now);
  const headers = {
    "webhook-id": "msg_1",
    "webhook-timestamp": String(now / 1_000),
    "webhook-signature": new StandardWebhook(secrets.polar).sign("msg_1", time, body),
  };
  assert(await believes(providerOf("polar"), { body, headers }));
  for (const id of ["", "msg_1.1790000000", "msg 1", "x".repeat(256)]) {
    const changed = { ...headers, "webhook-id": id };
    assertEquals(await believes(providerOf("polar"), { body, headers: changed }), false);
  }
});

/** One header with the codes of several. */
function several(vendor: VendorName, list: readonly Record<string, string>[]) {
  const [first = {}] = list;
  const codes = (name: string, separator: string) =>
    list.map((headers) => headers[name]?.split(separator)[1]);
  switch (vendor) {
    case "stripe":
      return { "stripe-signature": [`t=${now / 1_000}`, ...codes("stripe-signature", ",")].join() };
    case "paddle":
      return {
        "paddle-signature": [`ts=${now / 1_000}`, ...codes("paddle-signature", ";")].join(";"),
      };
    default: {
      const all = list.map((headers) => headers["webhook-signature"]).join(" ");
      return { ...first, "webhook-signature": `v1a,x ${all}` };
    }
  }
}
