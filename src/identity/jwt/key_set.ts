import { Problem } from "../../problem/problem.ts";
import { readBytes } from "../../runtime/read_bytes.ts";
import type { Runtime } from "../../runtime/runtime.ts";
import { createKeySet, type VerificationKey } from "./verify_jwt.ts";

/** The options of a remote key set. */
export interface KeySetOptions {
  readonly url: string;
  readonly runtime: Pick<Runtime, "clock" | "observe">;
  /** Called where the keys have changed: what they have verified is verified again. */
  readonly onChange: () => void;
}

/** After so long the keys are fetched again, while those that are known stay in use. */
const maxAgeMs = 10 * 60_000;
/** A token with an unknown key makes the keys be fetched so often at most. */
const pauseMs = 60_000;
/** The same while no keys are known at all, because no request can be identified until then. */
const firstPauseMs = 5_000;
/** The timeout of the key server, in milliseconds. Requests wait for it if no keys are known. */
const timeoutMs = 5_000;
const maxBytes = 512 * 1024;

/**
 * The keys of a remote JSON Web Key Set, which are kept: a server that is down or slow delays no
 * request as long as keys are known, and a token with an unknown key causes one fetch a minute at
 * most.
 */
export class KeySet {
  readonly #options: KeySetOptions;
  #known: { readonly keys: VerificationKey; readonly text: string } | null = null;
  /** By the clock that never jumps, like the next one. */
  #fetchedAt = -Infinity;
  #triedAt = -Infinity;
  #fetching: Promise<void> | null = null;

  /** Fetches nothing yet. */
  constructor(options: KeySetOptions) {
    this.#options = options;
  }

  /** The keys. Rejects with a 503 where none could be fetched yet. */
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

  /** The keys once they were fetched again, for a token whose key is unknown; null if they were not. */
  async newerKeys(): Promise<VerificationKey | null> {
    const before = this.#fetchedAt;
    await this.#fetchAfter(pauseMs);
    return this.#fetchedAt === before ? null : this.#known?.keys ?? null;
  }

  /** Fetches unless that was tried less than so long ago; never rejects. */
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
      // By contract the keys that are known stay in use.
      observe({ kind: "keys_not_fetched", url, error });
    } finally {
      cancelTimer();
    }
  }
}

async function fetchText(url: string, signal: AbortSignal): Promise<string> {
  const headers = { accept: "application/jwk-set+json, application/json" };
  // A redirection could lead into the network of the service.
  const response = await fetch(url, { signal, headers, redirect: "error" });
  if (!response.ok) {
    await response.body?.cancel();
    throw new Error(`The server of the keys answered ${response.status}`);
  }
  const bytes = await readBytes(response.body, { limit: maxBytes });
  if (typeof bytes === "string") throw new Error(`The key set has more than ${maxBytes} bytes`);
  return new TextDecoder().decode(bytes);
}
