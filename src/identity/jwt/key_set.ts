import { Problem } from "../../problem/problem.ts";
import { readBytes } from "../../runtime/read_bytes.ts";
import type { Runtime } from "../../runtime/runtime.ts";
import { createKeySet, type VerificationKey } from "./verify_jwt.ts";

export interface KeySetOptions {
  readonly url: string;
  readonly runtime: Pick<Runtime, "clock" | "observe">;
  /** Called when the keys have changed, so that tokens are verified again. */
  readonly onChange: () => void;
}

/** The age at which keys are fetched again, in milliseconds. Known keys remain in use. */
const maxAgeMs = 10 * 60_000;
/** The minimum time between fetches for tokens with an unknown key, in milliseconds. */
const pauseMs = 60_000;
/** The pause between fetches while no key is known, in milliseconds. */
const firstPauseMs = 5_000;
/** The timeout of a fetch, in milliseconds. Requests wait for a fetch if no keys are known. */
const timeoutMs = 5_000;
const maxBytes = 512 * 1024;

/**
 * The keys of a remote JSON Web Key Set, which are cached. If keys are known, a slow or failed
 * server delays no request. A token with an unknown key causes at most one fetch a minute.
 */
export class KeySet {
  readonly #options: KeySetOptions;
  #known: { readonly keys: VerificationKey; readonly text: string } | null = null;
  /** The time of the last fetch, by the monotonic clock. */
  #fetchedAt = -Infinity;
  #triedAt = -Infinity;
  #fetching: Promise<void> | null = null;

  constructor(options: KeySetOptions) {
    this.#options = options;
  }

  /** Returns the keys. Rejects with a 503 if no fetch has succeeded yet. */
  async keys(): Promise<VerificationKey> {
    const now = this.#options.runtime.clock.elapsedMs();
    if (this.#known === null) await this.#fetchAfter(firstPauseMs);
    else if (now - this.#fetchedAt >= maxAgeMs) void this.#fetchAfter(pauseMs);
    if (this.#known !== null) return this.#known.keys;
    throw new Problem(
      "identity-unavailable",
      "Cannot verify this token: no keys could be fetched",
      {
        headers: { "retry-after": String(firstPauseMs / 1_000) },
      },
    );
  }

  /** Fetches the keys again for a token with an unknown key. Returns null after a recent fetch. */
  async newerKeys(): Promise<VerificationKey | null> {
    const before = this.#fetchedAt;
    await this.#fetchAfter(pauseMs);
    return this.#fetchedAt === before ? null : this.#known?.keys ?? null;
  }

  /** Fetches the keys unless a fetch was tried recently. Never rejects. */
  async #fetchAfter(minPauseMs: number): Promise<void> {
    const now = this.#options.runtime.clock.elapsedMs();
    if (this.#fetching === null && now - this.#triedAt >= minPauseMs) {
      this.#triedAt = now;
      this.#fetching = this.#fetch().finally(() => this.#fetching = null);
    }
    await this.#fetching;
  }

  async #fetch(): Promise<void> {
    const { url, runtime: { clock, observe }, onChange } = this.#options;
    const controller = new AbortController();
    const cancelTimer = clock.after(
      timeoutMs,
      () => controller.abort(new Error("No answer in time")),
    );
    try {
      const text = await fetchText(url, controller.signal);
      if (this.#known?.text !== text) {
        const isFirst = this.#known === null;
        this.#known = { keys: createKeySet(JSON.parse(text)), text };
        if (!isFirst) onChange();
      }
      this.#fetchedAt = clock.elapsedMs();
    } catch (error) {
      // The known keys stay in use after a failed fetch.
      observe({ kind: "keys_not_fetched", url, error });
    } finally {
      cancelTimer();
    }
  }
}

async function fetchText(url: string, signal: AbortSignal): Promise<string> {
  const headers = { accept: "application/jwk-set+json, application/json" };
  // A redirect could lead into the private network of the service.
  const response = await fetch(url, { signal, headers, redirect: "error" });
  if (!response.ok) {
    await response.body?.cancel();
    throw new Error(`The server of the keys answered ${response.status}`);
  }
  const bytes = await readBytes(response.body, { limit: maxBytes });
  if (typeof bytes === "string") throw new Error(`The key set has more than ${maxBytes} bytes`);
  return new TextDecoder().decode(bytes);
}
