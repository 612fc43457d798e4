import {
  type CaptchaChallenges,
  createCaptchaChallenges,
  resolveCaptchaOptions,
} from "../../src/guard/captcha/captcha_challenges.ts";
import type { CaptchaVerifier } from "../../src/guard/captcha/captcha_verifier.ts";
import type { KeyValue } from "../../src/kv/key_value.ts";
import { createMemoryKeyValue } from "../../src/kv/memory_key_value.ts";
import type { Clock, Observation } from "../../src/runtime/runtime.ts";
import { systemRuntime } from "../../src/runtime/system_runtime.ts";

/** A question as the vendor received it. */
export interface ReceivedForm {
  readonly contentType: string | null;
  readonly form: Readonly<Record<string, string>>;
}

/** A vendor on this machine. */
export interface TestVendor extends AsyncDisposable {
  readonly endpoint: string;
  readonly received: readonly ReceivedForm[];
}

/** Plays a vendor: `reply` answers the n-th question, counted from 1. */
export function startVendor(reply: (n: number) => Response | Promise<Response>): TestVendor {
  const received: ReceivedForm[] = [];
  const server = Deno.serve(
    { port: 0, hostname: "127.0.0.1", onListen: () => {} },
    async (request) => {
      const form = Object.fromEntries(new URLSearchParams(await request.text()));
      received.push({ contentType: request.headers.get("content-type"), form });
      return await reply(received.length);
    },
  );
  return {
    endpoint: `http://127.0.0.1:${server.addr.port}/siteverify`,
    received,
    [Symbol.asyncDispose]: () => server.shutdown(),
  };
}

export const keys = { siteKey: "the-site", secret: "the-secret" };

/** The headers that a page sends. */
export function tokenHeaders(token: string): Headers {
  return new Headers({ "service-captcha-token": token });
}

/** The service's side, over a store in memory, with everything that it observed. */
export function captchaOf(
  verifier: CaptchaVerifier,
  parts: { readonly clock?: Clock; readonly store?: KeyValue } = {},
): CaptchaChallenges & { readonly observations: readonly Observation[] } {
  const observations: Observation[] = [];
  const system = systemRuntime((observation) => observations.push(observation));
  const runtime = { ...system, clock: parts.clock ?? system.clock };
  const store = parts.store ?? createMemoryKeyValue(runtime.clock);
  const captcha = createCaptchaChallenges({
    ...resolveCaptchaOptions({ verifier }, false),
    store,
    runtime,
  });
  return { ...captcha, observations };
}
