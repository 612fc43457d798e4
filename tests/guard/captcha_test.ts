import { assert, assertEquals, assertRejects, assertThrows } from "@std/assert";
import {
  requireCaptchaVerifier,
  resolveCaptchaOptions,
} from "../../src/guard/captcha/captcha_challenges.ts";
import type { CaptchaQuestion, CaptchaVerifier } from "../../src/guard/captcha/captcha_verifier.ts";
import {
  hcaptcha,
  recaptcha,
  type RecaptchaOptions,
  turnstile,
} from "../../src/guard/captcha/siteverify_protocol.ts";
import { Problem } from "../../src/problem/problem.ts";
import type { KeyValue } from "../../src/kv/key_value.ts";
import { createMemoryKeyValue } from "../../src/kv/memory_key_value.ts";
import { StoreError } from "../../src/kv/store_error.ts";
import { systemRuntime } from "../../src/runtime/system_runtime.ts";
import { handClock } from "../db/hand_clock.ts";
import { captchaOf, keys, startVendor, tokenHeaders } from "./vendor.ts";

const anyone = { action: undefined, remoteIp: undefined };

/** The outcome of one token when the vendor gives this reply. */
async function outcome(
  make: (options: RecaptchaOptions) => CaptchaVerifier,
  reply: () => Response | Promise<Response>,
  { options = {}, action }: {
    readonly options?: Partial<RecaptchaOptions>;
    readonly action?: string;
  } = {},
): Promise<string> {
  await using vendor = startVendor(reply);
  const { endpoint } = vendor;
  const { verifyToken } = captchaOf(make({ ...keys, endpoint, ...options }));
  try {
    return await verifyToken(tokenHeaders("a.token"), { ...anyone, action }) ?? "passed";
  } catch (error) {
    if (error instanceof Problem) return error.slug;
    throw error;
  }
}

const says = (answer: unknown) => () => Response.json(answer);

Deno.test("turnstile is sent a form with an id of the question, and true passes", async () => {
  await using vendor = startVendor(says({ success: true }));
  const { verifyToken } = captchaOf(turnstile({ ...keys, endpoint: vendor.endpoint }));
  const facts = { action: undefined, remoteIp: "203.0.113.9" };
  assertEquals(await verifyToken(tokenHeaders("a.token"), facts), null);
  const [{ contentType = null, form: { idempotency_key: id = "", ...form } = {} } = {}] =
    vendor.received;
  assertEquals(contentType, "application/x-www-form-urlencoded;charset=UTF-8");
  assertEquals(form, { secret: "the-secret", response: "a.token", remoteip: "203.0.113.9" });
  assert(/^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/.test(id));
});

Deno.test("hCaptcha is sent a form, with the site key and without an address that is unknown", async () => {
  await using vendor = startVendor(says({ success: true }));
  const { verifyToken } = captchaOf(hcaptcha({ ...keys, endpoint: vendor.endpoint }));
  assertEquals(await verifyToken(tokenHeaders("P1_a"), anyone), null);
  assertEquals(vendor.received, [{
    contentType: "application/x-www-form-urlencoded;charset=UTF-8",
    form: { secret: "the-secret", response: "P1_a", sitekey: "the-site" },
  }]);
});

Deno.test("reCAPTCHA is sent a form with secret, response and address alone", async () => {
  await using vendor = startVendor(says({ success: true, score: 0.9, action: "x" }));
  const { verifyToken } = captchaOf(recaptcha({ ...keys, endpoint: vendor.endpoint }));
  assertEquals(await verifyToken(tokenHeaders("03A"), { ...anyone, remoteIp: "::1" }), null);
  assertEquals(vendor.received.map(({ form }) => form), [
    { secret: "the-secret", response: "03A", remoteip: "::1" },
  ]);
});

Deno.test("case 27: success that is not exactly true, HTML, a redirect, a 500 never pass", async () => {
  for (const make of [turnstile, hcaptcha, recaptcha]) {
    assertEquals(await outcome(make, says({ success: "true" })), "no-success");
    assertEquals(await outcome(make, says({ success: 1 })), "no-success");
    assertEquals(await outcome(make, says({})), "no-success");
    assertEquals(
      await outcome(make, says({ success: false, "error-codes": ["timeout-or-duplicate"] })),
      "timeout-or-duplicate",
    );
    for (
      const reply of [
        () => new Response("<html>success: true</html>"),
        says([{ success: true }]),
        says(null),
        () => Response.redirect("http://127.0.0.1:9/", 302),
        () => new Response('{"success":true}', { status: 500 }),
        () => new Response('{"success":true}', { status: 404 }),
        says({ success: false, "error-codes": ["invalid-input-secret"] }),
      ]
    ) assertEquals(await outcome(make, reply), "captcha-unavailable");
  }
});

Deno.test("case 27: an answer of two gigabytes is not read beyond 64 KB", async () => {
  let sent = 0;
  const reply = () =>
    new Response(
      new ReadableStream({
        pull(controller) {
          if (sent >= 2 ** 31) return controller.close();
          sent += 65_536;
          controller.enqueue(new Uint8Array(65_536).fill(0x20));
        },
      }),
    );
  assertEquals(await outcome(hcaptcha, reply), "captcha-unavailable");
  assert(sent < 2 ** 26, `${sent} bytes were taken`);
});

Deno.test("case 27: an answer that drips is given up after 5 seconds, and so is a mute verifier", async () => {
  for (const drips of [true, false]) {
    const { clock, advance } = handClock();
    const called = Promise.withResolvers<void>();
    const ended = Promise.withResolvers<void>();
    await using vendor = startVendor(() => {
      called.resolve();
      return new Response(
        new ReadableStream({
          start: (controller) => controller.enqueue(new TextEncoder().encode('{"success":')),
          cancel: () => ended.resolve(),
        }),
      );
    });
    const mute: CaptchaVerifier = {
      provider: "mute",
      siteKey: "k",
      verify({ signal }) {
        signal.addEventListener("abort", () => ended.resolve());
        called.resolve();
        return new Promise(() => {});
      },
    };
    const verifier = drips ? hcaptcha({ ...keys, endpoint: vendor.endpoint }) : mute;
    const { verifyToken } = captchaOf(verifier, { clock });
    const verdict = assertRejects(() => verifyToken(tokenHeaders("t"), anyone), Problem);
    await called.promise;
    advance(5_000);
    const problem = await verdict;
    assertEquals([problem.slug, problem.headers], ["captcha-unavailable", { "retry-after": "5" }]);
    await ended.promise;
  }
});

Deno.test("case 28: an action, a hostname or a score that is missing or not the right one is refused", async () => {
  const action = "login";
  const v3 = (answer: object, minScore?: number) =>
    outcome(recaptcha, says({ success: true, ...answer }), {
      action,
      options: minScore === undefined ? {} : { minScore },
    });
  assertEquals(await v3({ action }), "passed");
  assertEquals(await v3({}), "other-action");
  assertEquals(await v3({ action: "signup" }), "other-action");
  assertEquals(await v3({ action, score: 0.5 }, 0.5), "passed");
  assertEquals(await v3({ action, score: 0.4 }, 0.5), "low-score");
  assertEquals(await v3({ action }, 0.5), "low-score");
  assertEquals(await v3({ action }, 0), "low-score");
  assertEquals(await v3({ action, score: "0.9" }, 0.5), "low-score");
  assertEquals(await v3({ action, score: null }, 0.5), "low-score");
  const home = { options: { hostnames: ["shop.test"] } };
  for (const make of [turnstile, hcaptcha]) {
    const at = (hostname?: string) => outcome(make, says({ success: true, hostname }), home);
    assertEquals(await at("shop.test"), "passed");
    assertEquals(await at("evil.shop.test"), "other-hostname");
    assertEquals(await at("SHOP.test"), "other-hostname");
    assertEquals(await at(), "other-hostname");
  }
});

Deno.test("case 29: of 50 parallel requests with one token one calls the vendor and passes", async () => {
  await using vendor = startVendor(says({ success: true }));
  const verifier = turnstile({ ...keys, endpoint: vendor.endpoint });
  const store = createMemoryKeyValue(systemRuntime(() => {}).clock);
  // Two processes with one store.
  const captchas = [captchaOf(verifier, { store }), captchaOf(verifier, { store })];
  const outcomes = await Promise.all(
    Array.from({ length: 50 }, (_, n) => captchas[n % 2]?.verifyToken(tokenHeaders("t"), anyone)),
  );
  assertEquals(outcomes.filter((reason) => reason === null).length, 1);
  assertEquals(outcomes.filter((reason) => reason === "replayed").length, 49);
  assertEquals(vendor.received.length, 1);
});

Deno.test("case 30: production does not start with a vendor's test keys, unless they are allowed", () => {
  const testKeys = [
    turnstile({ siteKey: "0x4AAA", secret: "1x0000000000000000000000000000000AA" }),
    turnstile({ siteKey: "3x00000000000000000000FF", secret: "0x4BBB" }),
    hcaptcha({ siteKey: "s", secret: "0x0000000000000000000000000000000000000000" }),
    hcaptcha({ siteKey: "20000000-ffff-ffff-ffff-000000000002", secret: "ES_x" }),
    recaptcha({ siteKey: "s", secret: "6LeIxAcTAAAAAGG-vFI1TnRWxMZNFuojJ4WifJWe" }),
  ];
  for (const verifier of testKeys) {
    assertThrows(() => resolveCaptchaOptions({ verifier }, true), Error, "test keys");
    resolveCaptchaOptions({ verifier }, false);
    resolveCaptchaOptions({ verifier, allowTestKeys: true }, true);
  }
  for (const make of [turnstile, hcaptcha, recaptcha]) {
    resolveCaptchaOptions({ verifier: make(keys) }, true);
  }
});

Deno.test("turnstile alone is called a second time, with the same id, and not a third", async () => {
  const dead = () => new Response(null, { status: 503 });
  {
    await using vendor = startVendor((n) => n === 1 ? dead() : Response.json({ success: true }));
    const { verifyToken } = captchaOf(turnstile({ ...keys, endpoint: vendor.endpoint }));
    assertEquals(await verifyToken(tokenHeaders("t"), anyone), null);
    const ids = vendor.received.map(({ form }) => form["idempotency_key"]);
    assertEquals([ids.length, new Set(ids).size], [2, 1]);
  }
  for (const [make, times] of [[turnstile, 2], [hcaptcha, 1], [recaptcha, 1]] as const) {
    await using vendor = startVendor(dead);
    const { verifyToken } = captchaOf(make({ ...keys, endpoint: vendor.endpoint }));
    await assertRejects(() => verifyToken(tokenHeaders("t"), anyone), Problem);
    assertEquals(vendor.received.length, times);
  }
});

Deno.test("a token that could not be checked may be sent again, one that was refused may not", async () => {
  await using vendor = startVendor((n) =>
    n === 1 ? new Response(null, { status: 500 }) : Response.json({ success: n === 2 })
  );
  const { verifyToken } = captchaOf(hcaptcha({ ...keys, endpoint: vendor.endpoint }));
  await assertRejects(() => verifyToken(tokenHeaders("a"), anyone), Problem);
  assertEquals(await verifyToken(tokenHeaders("a"), anyone), null);
  assertEquals(await verifyToken(tokenHeaders("a"), anyone), "replayed");
  assertEquals(await verifyToken(tokenHeaders("b"), anyone), "no-success");
  assertEquals(await verifyToken(tokenHeaders("b"), anyone), "replayed");
  assertEquals(vendor.received.length, 3);
});

Deno.test("no vendor is called for a token that is absent, sent twice, too long or no token", async () => {
  await using vendor = startVendor(says({ success: true }));
  const { verifyToken } = captchaOf(turnstile({ ...keys, endpoint: vendor.endpoint }));
  assertEquals(await verifyToken(new Headers(), anyone), "absent");
  const twice = tokenHeaders("a");
  twice.append("service-captcha-token", "b");
  assertEquals(await verifyToken(twice, anyone), "malformed");
  assertEquals(await verifyToken(tokenHeaders(""), anyone), "malformed");
  assertEquals(await verifyToken(tokenHeaders("x".repeat(8_193)), anyone), "malformed");
  assertEquals(await verifyToken(tokenHeaders("x".repeat(2_049)), anyone), "too-long");
  assertEquals(vendor.received, []);
});

Deno.test("a store that does not answer refuses before the vendor is called", async () => {
  await using vendor = startVendor(says({ success: true }));
  const memory = createMemoryKeyValue(systemRuntime(() => {}).clock);
  let isDown = true;
  const store: KeyValue = {
    ...memory,
    commit: (commit) =>
      isDown ? Promise.reject(new StoreError("unavailable", "down")) : memory.commit(commit),
  };
  const verifier = turnstile({ ...keys, endpoint: vendor.endpoint });
  const { verifyToken } = captchaOf(verifier, { store });
  await assertRejects(() => verifyToken(tokenHeaders("a"), anyone), StoreError);
  assertEquals(vendor.received, []);
  isDown = false;
  assertEquals(await verifyToken(tokenHeaders("a"), anyone), null);
});

Deno.test("a custom verifier passes by true or a kind, and by nothing else", async () => {
  const replies: readonly (readonly [unknown, string | null])[] = [
    [true, null],
    [{ kind: "passed" }, null],
    [false, "not-passed"],
    ["passed", "not-passed"],
    [1, "not-passed"],
    [undefined, "not-passed"],
    [{ success: true }, "not-passed"],
    [{ kind: "refused", reason: "bad" }, "bad"],
  ];
  for (const [reply, expected] of replies) {
    // A verifier in JavaScript may return this.
    const verify = () => reply as boolean;
    const { verifyToken } = captchaOf({ provider: "own", siteKey: "k", verify });
    assertEquals(await verifyToken(tokenHeaders("t"), anyone), expected);
  }
});

Deno.test("a custom verifier that throws refuses, and is observed", async () => {
  const error = new Error("no such luck");
  const verifier: CaptchaVerifier = {
    provider: "own",
    siteKey: "k",
    verify: () => {
      throw error;
    },
  };
  const captcha = captchaOf(verifier);
  const headers = tokenHeaders("t");
  const request = new Request("http://test/", { headers });
  const problem = await assertRejects(() => captcha.require(request, anyone), Problem);
  assertEquals(problem.slug, "captcha-required");
  assertEquals(captcha.observations, [
    { kind: "captcha_verifier_failed", provider: "own", error },
    { kind: "captcha_refused", provider: "own", reason: "verifier-failed" },
  ]);
});

Deno.test("a challenge names provider, site key and action, and looks alike for every reason", async () => {
  const questions: CaptchaQuestion[] = [];
  const captcha = captchaOf({
    provider: "own",
    siteKey: "k",
    verify: (question) => {
      questions.push(question);
      return question.token === "good";
    },
  });
  const facts = { action: "post", remoteIp: "203.0.113.9" };
  const refusals = [];
  for (const headers of [new Headers(), tokenHeaders("bad"), tokenHeaders("bad")]) {
    const request = new Request("http://test/", { headers });
    refusals.push(await assertRejects(() => captcha.require(request, facts), Problem));
  }
  const [first] = refusals;
  assertEquals(first?.slug, "captcha-required");
  assertEquals(first?.headers, {
    "service-challenge-type": "captcha",
    "service-captcha-provider": "own",
    "service-captcha-sitekey": "k",
    "service-captcha-action": "post",
  });
  for (const other of refusals) {
    assertEquals([other.toBody(), other.headers], [first?.toBody(), first?.headers]);
  }
  await captcha.require(new Request("http://test/", { headers: tokenHeaders("good") }), facts);
  assertEquals(
    questions.map(({ token, action, remoteIp }) => [token, action, remoteIp]),
    [["bad", "post", "203.0.113.9"], ["good", "post", "203.0.113.9"]],
  );
});

Deno.test("options of a CAPTCHA that cannot work end the start", () => {
  const verifier = turnstile(keys);
  assertThrows(
    () => resolveCaptchaOptions({ verifier, tokenHeader: "a b" }, false),
    Error,
    "tokenHeader",
  );
  // As JavaScript may pass it.
  const half = { provider: "own", siteKey: "k" } as unknown as CaptchaVerifier;
  assertThrows(() => resolveCaptchaOptions({ verifier: half }, false), Error, "verifier");
  assertThrows(() => turnstile({ siteKey: "", secret: "s" }), Error, "turnstile.siteKey");
  assertThrows(() => hcaptcha({ siteKey: "s", secret: "s\n" }), Error, "hcaptcha.secret");
  assertThrows(() => recaptcha({ ...keys, minScore: 2 }), Error, "minScore");
  const requireAction = (of: CaptchaVerifier) =>
    requireCaptchaVerifier(
      { action: "signup" },
      resolveCaptchaOptions({ verifier: of }, false),
      "Cannot serve notes: captcha",
    );
  requireAction(verifier);
  assertThrows(
    () => requireAction(hcaptcha(keys)),
    Error,
    "hcaptcha knows none",
  );
});
