import { assertEquals, assertRejects } from "@std/assert";
import { all, type AppConfig, integer, resource, table, text } from "../../mod.ts";
import { type CaptchaQuestion, type CaptchaVerifier, turnstile } from "../../exports/captcha.ts";
import type { ProtectionOptions } from "../../exports/options.ts";
import { startVendor } from "../guard/vendor.ts";
import { engines } from "../support/engines.ts";
import { type Service, withService } from "../support/http.ts";

const notes = table("notes", { id: integer().primaryKey(), title: text().notNull() });
const [someEngine] = engines;

function withGate(
  verifier: CaptchaVerifier,
  protection: ProtectionOptions,
  work: (service: Service) => Promise<void>,
  config: Partial<AppConfig> = {},
): Promise<void> {
  if (someEngine === undefined) return Promise.resolve();
  return withService(someEngine, [notes], () => ({
    kv: ":memory:",
    abuseProtection: { captcha: { verifier } },
    ...config,
    resources: [resource(notes, {
      id: notes.id,
      auth: { public: true, create: () => all() },
      ...protection,
    })],
  }), work);
}

function own(questions: CaptchaQuestion[] = []): CaptchaVerifier {
  return {
    provider: "own",
    siteKey: "the-site",
    verify(question) {
      questions.push(question);
      return question.token.startsWith("good");
    },
  };
}

const gate: ProtectionOptions = { captcha: { operations: ["create"], action: "post" } };

function create(service: Service, headers: Record<string, string>) {
  return service.send("POST", "/api/notes", { title: "a" }, { "x-user": "ada", ...headers });
}

Deno.test("case 25: a gate answers an uncacheable 428 with what a page needs, then accepts a token once", async () => {
  const questions: CaptchaQuestion[] = [];
  await withGate(own(questions), gate, async (service) => {
    const { status, body, headers } = await create(service, {});
    assertEquals([status, body.code], [428, "CAPTCHA_REQUIRED"]);
    const names = ["challenge-type", "captcha-provider", "captcha-sitekey", "captcha-action"];
    assertEquals(names.map((name) => headers.get(`service-${name}`)), [
      "captcha",
      "own",
      "the-site",
      "post",
    ]);
    assertEquals(headers.get("cache-control"), "no-store");
    assertEquals((await create(service, { "service-captcha-token": "bad" })).status, 428);
    assertEquals((await create(service, { "service-captcha-token": "good" })).status, 201);
    assertEquals((await create(service, { "service-captcha-token": "good" })).status, 428);
    assertEquals(questions.map(({ token, action }) => [token, action]), [
      ["bad", "post"],
      ["good", "post"],
    ]);
    assertEquals((await service.get("/api/notes")).body.items.length, 1);
  });
});

Deno.test("case 25: the 428 of a keyed request is not stored, and a replay needs no new token", async () => {
  await withGate(own(), gate, async (service) => {
    const key = { "idempotency-key": "k" };
    assertEquals((await create(service, key)).status, 428);
    const solved = await create(service, { ...key, "service-captcha-token": "good" });
    assertEquals([solved.status, solved.headers.get("idempotency-replayed")], [201, null]);
    const again = await create(service, key);
    assertEquals([again.status, again.headers.get("idempotency-replayed")], [201, "true"]);
    assertEquals((await service.get("/api/notes")).body.items.length, 1);
  });
});

Deno.test("the token is read from the header that the configuration names, and from no other", async () => {
  const abuseProtection = { captcha: { verifier: own(), tokenHeader: "X-Person" } };
  await withGate(own(), gate, async (service) => {
    assertEquals((await create(service, { "service-captcha-token": "good" })).status, 428);
    assertEquals((await create(service, { "x-person": "good" })).status, 201);
  }, { abuseProtection });
});

Deno.test("a vendor that is down is 503 with Retry-After, and the token may be sent again", async () => {
  await using vendor = startVendor((n) =>
    n <= 2 ? new Response(null, { status: 502 }) : Response.json({ success: true, action: "post" })
  );
  const verifier = turnstile({ siteKey: "s", secret: "the-secret", endpoint: vendor.endpoint });
  await withGate(verifier, gate, async (service) => {
    const token = { "service-captcha-token": "a.token" };
    const down = await create(service, token);
    assertEquals([down.status, down.body.code], [503, "CAPTCHA_UNAVAILABLE"]);
    assertEquals(down.headers.get("retry-after"), "5");
    assertEquals(JSON.stringify(down.body).includes("502"), false);
    assertEquals((await create(service, token)).status, 201);
    assertEquals(Deno.inspect(service.observations, { depth: 9 }).includes("the-secret"), false);
  });
});

Deno.test("case 30: production does not start with test keys, nor an action with hCaptcha's kind", async () => {
  const verifier = turnstile({
    siteKey: "1x00000000000000000000AA",
    secret: "1x0000000000000000000000000000000AA",
  });
  const start = (verifier: CaptchaVerifier, config: Partial<AppConfig> = {}) =>
    withGate(verifier, gate, () => Promise.resolve(), config);
  await start(verifier);
  await assertRejects(() => start(verifier, { env: "production" }), Error, "test keys");
  await assertRejects(() => start({ ...own(), hasActions: false }), Error, "action");
});
