import { type Described, either, listOf, type Option } from "../../options/option.ts";
import { callback, testedValue, timerMs } from "../../options/option_kinds.ts";

/** The options that all billing providers have. */
export interface ProviderOptions {
  /**
   * The webhook secret as the provider shows it; during a rotation, a list of the old and the new
   * one. Without a secret, deliveries are not verified, and the app does not start in production.
   */
  readonly webhookSecret?: string | readonly string[] | undefined;
  /** Maximum difference between this clock and a delivery's time, in ms. Default: 300,000. */
  readonly toleranceMs?: number | undefined;
  /** A base URL of the provider's API in place of the usual one, for instance for tests. */
  readonly baseUrl?: string | undefined;
  /** Function that sends API calls. Default: the global `fetch`. */
  readonly fetch?: typeof fetch | undefined;
  /** Timeout of one API call, in milliseconds. Default: 10,000. */
  readonly timeoutMs?: number | undefined;
}

export const providerOptionRules = {
  webhookSecret: either(keyOption(), listOf("secrets", keyOption())),
  toleranceMs: timerMs().default(300_000),
  baseUrl: testedValue<string>(
    "a URL without a slash at its end",
    (given) => typeof given === "string" && /^https?:\/\/[^\s?#]+[^\s?#/]$/.test(given),
  ),
  fetch: callback<typeof fetch>(),
  timeoutMs: timerMs().default(10_000),
} satisfies Described<ProviderOptions>;

/** Defines an option for a secret. Spaces and line breaks are rejected as copying mistakes. */
export function keyOption(): Option<string | undefined> {
  return testedValue<string>(
    "a text as the provider gave it, without spaces",
    (given) => typeof given === "string" && /^[\x21-\x7e]{1,500}$/.test(given),
  );
}

/** Returns the webhook secrets as a list, which is empty without a secret. */
export function secretsOf(given: string | readonly string[] | undefined): readonly string[] {
  return given === undefined ? [] : [given].flat();
}
