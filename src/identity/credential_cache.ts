import type { Identification } from "../auth/authenticator.ts";
import type { User } from "../auth/authorize.ts";
import { boundedMap } from "../runtime/bounded_map.ts";
import type { MaybePromise } from "../runtime/maybe_promise.ts";
import type { Clock } from "../runtime/runtime.ts";

export interface CredentialState {
  readonly user: User;
  readonly expiresAt: number;
}

export interface CredentialCacheOptions {
  readonly clock: Clock;
  readonly recheckMs: number;
  /** Reads a credential; null if unknown or ended. `isUsed` is false if it is only rechecked. */
  read(text: string, isUsed: boolean): Promise<CredentialState | null>;
}

interface Trusted {
  readonly identification: Identification;
  readonly expiresAt: number;
  readonly readAt: number;
}

/**
 * A cache of credentials (sessions, API keys), so that most requests do not read the store. A
 * credential that another process ends stays valid here for a short time. A credential that this
 * process ends is refused immediately.
 */
export class CredentialCache {
  readonly #options: CredentialCacheOptions;
  /** Null marks a credential that this process has ended, which the store may still return. */
  readonly #known = boundedMap<string, Trusted | null>(20_000);
  readonly #reading = new Map<string, Promise<Identification | null>>();

  constructor(options: CredentialCacheOptions) {
    this.#options = options;
  }

  identify(text: string): MaybePromise<Identification | null> {
    const known = this.#known.get(text);
    if (known === null) return null;
    if (known !== undefined && this.#isFresh(known)) return known.identification;
    return this.#read(text);
  }

  end(text: string): void {
    this.#known.set(text, null);
  }

  #isFresh({ readAt, expiresAt }: Trusted): boolean {
    const { clock, recheckMs } = this.#options;
    return clock.elapsedMs() - readAt < recheckMs && clock.now() < expiresAt;
  }

  #read(text: string): Promise<Identification | null> {
    const running = this.#reading.get(text);
    if (running !== undefined) return running;
    // This time precedes the read, so that a change during the read is found within `recheckMs`.
    const readAt = this.#options.clock.elapsedMs();
    const reading = this.#options.read(text, true).then((state) => this.#learn(text, state, readAt))
      .finally(() => this.#reading.delete(text));
    this.#reading.set(text, reading);
    return reading;
  }

  async #renew(text: string): Promise<User | null> {
    const state = await this.#options.read(text, false);
    return this.#learn(text, state, this.#known.get(text)?.readAt ?? -Infinity)?.user ?? null;
  }

  #learn(text: string, state: CredentialState | null, readAt: number): Identification | null {
    const known = this.#known.get(text);
    // This process has ended the credential while it was being read.
    if (known === null) return null;
    if (state === null) {
      // An unknown credential is not cached: invented credentials would displace valid ones.
      if (known !== undefined) this.end(text);
      return null;
    }
    const { user, expiresAt } = state;
    const isSame = known !== undefined && known.expiresAt === expiresAt &&
      JSON.stringify(known.identification.user) === JSON.stringify(user);
    const identification = isSame
      ? known.identification
      : { user, expiresAt, renew: () => this.#renew(text) };
    this.#known.set(text, { identification, expiresAt, readAt });
    return identification;
  }
}
