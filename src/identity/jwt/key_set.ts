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

/** Age at which keys are fetched again, in milliseconds. The known keys stay in use then. */
const maxAgeMs = 10 * 60_000;
/** Minimum time between two fetches because of unknown keys, in milliseconds. */
const pauseMs = 60_000;
/** Minimum time between two fetches while no fetch has succeeded, in milliseconds. */
const firstPauseMs = 5_000;
/** Timeout of a fetch, in milliseconds. Requests wait for it only if no keys are known. */
const timeoutMs = 5_000;
const maxBytes = 512 * 1024;

/**
 * The keys of a remote JSON Web Key Set, which are cached. Once keys are known, a server that is
 * slow or fails delays no request. Tokens with an unknown key cause at most one fetch a minute.
 */
export class KeySet {
  readonly #options: KeySetOptions;
  #known: { readonly keys: VerificationKey; readonly text: string } | null = null;
  /** Monotonic time of the last successful fetch. */
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

  /** Fetches the keys again for a token with an unknown key. Returns null if nothing newer came. */
  async newerKeys(): Promise<VerificationKey | null> {
    const before = this.#fetchedAt;
    await this.#fetchAfter(pauseMs);
    return this.#fetchedAt === before ? null : this.#known?.keys ?? null;
  }

  /** Fetches the keys, unless the last attempt was less than `minPauseMs` ago. Never rejects. */
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
      // After a failed fetch, the known keys are still used.
      observe({ kind: "keys_not_fetched", url, error });
    } finally {
      cancelTimer();
    }
  }
}

async function fetchText(url: string, signal: AbortSignal): Promise<string> {
  const headers = { accept: "application/jwk-set+json, application/json" };
  // A redirect could lead to a server in the private network of the service.
  const response = await fetch(url, { signal, headers, redirect: "error" });
  if (!response.ok) {
    await response.body?.cancel();
    throw new Error(`The server of the keys answered ${response.status}`);
  }
  const bytes = await readBytes(response.body, { limit: maxBytes });
  if (typeof bytes === "string") throw new Error(`The key set has more than ${maxBytes} bytes`);
  return new TextDecoder().decode(bytes);
}
