import type { Identification } from "../auth/authenticator.ts";
import type { User } from "../auth/user.ts";
import { boundedMap } from "../runtime/bounded_map.ts";
import type { MaybePromise } from "../runtime/maybe_promise.ts";
import type { Clock } from "../runtime/runtime.ts";

/** The state of a credential: its user, and its end in milliseconds since 1970. */
export interface CredentialState {
  readonly user: User;
  readonly expiresAt: number;
}

/** The parts that trusted credentials need. */
export interface TrustedCredentialsOptions {
  readonly clock: Clock;
  /** How long what was read is trusted. */
  readonly recheckMs: number;
  /**
   * Reads a credential by its text; null for one that is unknown or has ended. It is used by a
   * request, and not by a stream that is open.
   */
  read(text: string, isUsed: boolean): Promise<CredentialState | null>;
}

interface Trusted {
  readonly identification: Identification;
  readonly expiresAt: number;
  /** By the clock that never jumps. */
  readonly readAt: number;
}

/**
 * Credentials that are kept in a store, and trusted for a short time after they were read: a request
 * with one costs no round trip then. A credential that ends in another process is good for that
 * time; one that ends in this process is forgotten at once.
 */
export class TrustedCredentials {
  readonly #options: TrustedCredentialsOptions;
  /** Null for one that has ended in this process: it may be in the store for a moment longer. */
  readonly #known = boundedMap<string, Trusted | null>(20_000);
  /** The reads that have not ended, by the text of their credential. */
  readonly #reading = new Map<string, Promise<Identification | null>>();

  /** Reads nothing yet. */
  constructor(options: TrustedCredentialsOptions) {
    this.#options = options;
  }

  /** The identification of a credential; null if it is unknown or has ended. */
  identify(text: string): MaybePromise<Identification | null> {
    const known = this.#known.get(text);
    if (known === null) return null;
    if (known !== undefined && this.#isFresh(known)) return known.identification;
    return this.#read(text);
  }

  /** The credential has ended, in this process. */
  end(text: string): void {
    this.#known.set(text, null);
  }

  #isFresh({ readAt, expiresAt }: Trusted): boolean {
    const { clock, recheckMs } = this.#options;
    return clock.elapsedMs() - readAt < recheckMs && clock.now() < expiresAt;
  }

  /** Requests that arrive together share a read. */
  #read(text: string): Promise<Identification | null> {
    const running = this.#reading.get(text);
    if (running !== undefined) return running;
    // Before the read: what is written after it is seen one `recheckMs` after this moment.
    const readAt = this.#options.clock.elapsedMs();
    const reading = this.#options.read(text, true)
      .then((state) => this.#learn(text, state, readAt))
      .finally(() => this.#reading.delete(text));
    this.#reading.set(text, reading);
    return reading;
  }

  /**
   * Reads for a stream, which does not use the credential: the requests read it by themselves, so
   * that their use is noted.
   */
  async #renew(text: string): Promise<User | null> {
    const state = await this.#options.read(text, false);
    return this.#learn(text, state, this.#known.get(text)?.readAt ?? -Infinity)?.user ?? null;
  }

  #learn(text: string, state: CredentialState | null, readAt: number): Identification | null {
    const known = this.#known.get(text);
    // It has ended while it was read.
    if (known === null) return null;
    if (state === null) {
      // An unknown one is not kept: strings that are made up would drop those that are in use.
      if (known !== undefined) this.end(text);
      return null;
    }
    const { user, expiresAt } = state;
    const isSame = known !== undefined && known.expiresAt === expiresAt &&
      isSameUser(known.identification.user, user);
    const identification = isSame
      ? known.identification
      : { user, expiresAt, renew: () => this.#renew(text) };
    this.#known.set(text, { identification, expiresAt, readAt });
    return identification;
  }
}

/** Users of one credential are made by one function, with the same members in the same order. */
function isSameUser(left: User, right: User): boolean {
  return JSON.stringify(left) === JSON.stringify(right);
}
