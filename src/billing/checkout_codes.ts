import { createHmac, timingSafeEqual } from "node:crypto";
import type { KeyValue } from "../kv/key_value.ts";
import { bytesToBase64, encodeBase64url } from "../protocol/byte_text.ts";
import { deriveKey } from "../runtime/derive_key.ts";
import type { Random } from "../runtime/runtime.ts";
import type { CheckoutMode } from "./providers/billing_provider.ts";
import { billingKeys } from "./webhook/billing_keys.ts";

/** The parts of a checkout from which its code is computed. */
export interface CodedCheckout {
  readonly accountId: string;
  /** The prices in the form of {@link pricesText}. */
  readonly prices: string;
  readonly mode: CheckoutMode;
}

export interface CheckoutCodesOptions {
  /** Name of the provider. A code for one provider is invalid for another. */
  readonly provider: string;
  /** The first secret creates codes; all verify them. Null means a random secret in the store. */
  readonly secrets: readonly string[] | null;
  readonly store: KeyValue;
  readonly random: Random;
}

/** Creates and verifies codes of checkouts, whose metadata a buyer can change at some providers. */
export class CheckoutCodes {
  readonly #options: CheckoutCodesOptions;
  #keys: readonly Uint8Array[] | null = null;

  constructor(options: CheckoutCodesOptions) {
    this.#options = options;
  }

  async make(checkout: CodedCheckout): Promise<string> {
    const [key = new Uint8Array()] = await this.#loadKeys();
    return this.#codeOf(checkout, key);
  }

  /** Returns true if the metadata contains the right code for its account and prices. */
  async covers(metadata: Readonly<Record<string, string>>): Promise<boolean> {
    const { accountId = "", prices = "", checkoutCode = "" } = metadata;
    const mode = modes.find((one) => checkoutCode.startsWith(`${one}.`));
    if (accountId === "" || mode === undefined) return false;
    const keys = await this.#loadKeys();
    const codes = keys.map((key) => this.#codeOf({ accountId, prices, mode }, key));
    return codes.some((code) => isSame(code, checkoutCode));
  }

  #codeOf({ accountId, prices, mode }: CodedCheckout, key: Uint8Array): string {
    const covered = JSON.stringify([this.#options.provider, accountId, prices, mode]);
    return `${mode}.${encodeBase64url(createHmac("sha256", key).update(covered).digest())}`;
  }

  async #loadKeys(): Promise<readonly Uint8Array[]> {
    if (this.#keys !== null) return this.#keys;
    const { secrets } = this.#options;
    // A code that was created with the stored secret stays valid after you configure a secret.
    const kept = await this.#keptSecret();
    const all = [...secrets ?? [], ...kept === null ? [] : [kept]];
    if (all.length === 0) all.push(await this.#keepSecret());
    this.#keys = all.map((secret) => deriveKey(secret, "checkout"));
    return this.#keys;
  }

  async #keptSecret(): Promise<string | null> {
    const { value } = await this.#options.store.get(billingKeys.codeSecret);
    return typeof value === "string" ? value : null;
  }

  async #keepSecret(): Promise<string> {
    const { store, random } = this.#options;
    const [key, value] = [billingKeys.codeSecret, bytesToBase64(random.bytes(32))];
    const { ok } = await store.commit({
      checks: [{ key, versionstamp: null }],
      mutations: [{ kind: "set", key, value }],
      claim: key,
    });
    // Another process may have stored its own secret first, which then counts.
    return ok ? value : await this.#keptSecret() ?? value;
  }
}

const modes: readonly CheckoutMode[] = ["subscription", "payment"];

function isSame(code: string, given: string): boolean {
  const [a, b] = [new TextEncoder().encode(code), new TextEncoder().encode(given)];
  return a.length === b.length && timingSafeEqual(a, b);
}
