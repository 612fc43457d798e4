import { type Described, either, listOf, type Option } from "../../options/option.ts";
import { callback, other, timerMs } from "../../options/option_kinds.ts";

/** The options that all billing providers take. */
export interface ProviderOptions {
  /**
   * The secret of the webhook, as the provider shows it; a list rotates. Without one deliveries are
   * not verified, and in production the start fails.
   */
  readonly webhookSecret?: string | readonly string[] | undefined;
  /** How old a delivery may be, and how far in the future; 300,000 unless set. */
  readonly toleranceMs?: number | undefined;
  /** Another URL of the provider's API, or of a test. */
  readonly baseUrl?: string | undefined;
  /** Sends the calls; the global `fetch` unless set. */
  readonly fetch?: typeof fetch | undefined;
  /** The longest time for one call of the API; 10,000 unless set. */
  readonly timeoutMs?: number | undefined;
}

/** The options that all billing providers take, described. */
export const providerOptions = {
  webhookSecret: either(secretText(), listOf("secrets", secretText())),
  toleranceMs: timerMs().unlessSet(300_000),
  baseUrl: other<string>(
    "a URL without a slash at its end",
    (given) => typeof given === "string" && /^https?:\/\/[^\s?#]+[^\s?#/]$/.test(given),
  ),
  fetch: callback<typeof fetch>(),
  timeoutMs: timerMs().unlessSet(10_000),
} satisfies Described<ProviderOptions>;

/** A secret or a key: with a space or a line break it was copied by mistake. */
export function secretText(): Option<string | undefined> {
  return other<string>(
    "a text as the provider gave it, without spaces",
    (given) => typeof given === "string" && /^[\x21-\x7e]{1,500}$/.test(given),
  );
}

/** The secrets of a webhook, none where it has none. */
export function secretsOf(given: string | readonly string[] | undefined): readonly string[] {
  return given === undefined ? [] : [given].flat();
}
