import { createHmac, timingSafeEqual } from "node:crypto";
import type { KeyValue } from "../kv/key_value.ts";
import { bytesToBase64, encodeBase64url } from "../protocol/byte_text.ts";
import { deriveKey } from "../runtime/derive_key.ts";
import type { Random } from "../runtime/runtime.ts";
import type { CheckoutMode } from "./providers/billing_provider.ts";
import { billingKeys } from "./webhook/billing_keys.ts";

/** What the code of a checkout covers. */
export interface CodedCheckout {
  readonly accountId: string;
  /** As the metadata have them. */
  readonly prices: string;
  readonly mode: CheckoutMode;
}

/** Where the keys of codes come from. */
export interface CheckoutCodesOptions {
  /** The name of the provider: a code of one is none of another. */
  readonly provider: string;
  /** The first makes codes, all verify them; null for one that the store keeps. */
  readonly secrets: readonly string[] | null;
  readonly store: KeyValue;
  readonly random: Random;
}

/**
 * The codes by which checkouts of this service are recognised. Metadata of some providers can be set
 * by the page or the link that a buyer opens; a code over them cannot.
 */
export class CheckoutCodes {
  readonly #options: CheckoutCodesOptions;
  #keys: readonly Uint8Array[] | null = null;

  /** Makes no call yet. */
  constructor(options: CheckoutCodesOptions) {
    this.#options = options;
  }

  /** Makes the code of a checkout. */
  async make(checkout: CodedCheckout): Promise<string> {
    const [key = new Uint8Array()] = await this.#loadKeys();
    return this.#codeOf(checkout, key);
  }

  /** Returns true if this service has made the account and the prices of these metadata. */
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
    // The one of the store continues to verify after a secret was set.
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
    // Another process was first.
    return ok ? value : await this.#keptSecret() ?? value;
  }
}

const modes: readonly CheckoutMode[] = ["subscription", "payment"];

function isSame(code: string, given: string): boolean {
  const [a, b] = [new TextEncoder().encode(code), new TextEncoder().encode(given)];
  return a.length === b.length && timingSafeEqual(a, b);
}
