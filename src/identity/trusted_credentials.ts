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
  /** How long a credential is trusted after it was read, in milliseconds. */
  readonly recheckMs: number;
  /**
   * Reads a credential by its string. Returns null if it is unknown or has ended. `isUsed` is true
   * for a request, and false for an open stream.
   */
  read(text: string, isUsed: boolean): Promise<CredentialState | null>;
}

interface Trusted {
  readonly identification: Identification;
  readonly expiresAt: number;
  /** The time of the read, by the monotonic clock. */
  readonly readAt: number;
}

/**
 * Credentials in a store. They are trusted for a short time after they were read, so that a request
 * needs no round trip. A credential that ends in another process stays valid for that time. A
 * credential that ends in this process is removed immediately.
 */
export class TrustedCredentials {
  readonly #options: TrustedCredentialsOptions;
  /** The known credentials. Null for an ended credential that the store may still return. */
  readonly #known = boundedMap<string, Trusted | null>(20_000);
  /** The reads in progress, by the string of their credential. */
  readonly #reading = new Map<string, Promise<Identification | null>>();

  /** Creates the collection. Reads nothing yet. */
  constructor(options: TrustedCredentialsOptions) {
    this.#options = options;
  }

  /** Returns the identification of a credential, or null if it is unknown or has ended. */
  identify(text: string): MaybePromise<Identification | null> {
    const known = this.#known.get(text);
    if (known === null) return null;
    if (known !== undefined && this.#isFresh(known)) return known.identification;
    return this.#read(text);
  }

  /** Records that a credential has ended in this process. */
  end(text: string): void {
    this.#known.set(text, null);
  }

  #isFresh({ readAt, expiresAt }: Trusted): boolean {
    const { clock, recheckMs } = this.#options;
    return clock.elapsedMs() - readAt < recheckMs && clock.now() < expiresAt;
  }

  /** Reads a credential once for concurrent requests. */
  #read(text: string): Promise<Identification | null> {
    const running = this.#reading.get(text);
    if (running !== undefined) return running;
    // Measured before the read, so that a later write is seen one `recheckMs` after this time.
    const readAt = this.#options.clock.elapsedMs();
    const reading = this.#options.read(text, true)
      .then((state) => this.#learn(text, state, readAt))
      .finally(() => this.#reading.delete(text));
    this.#reading.set(text, reading);
    return reading;
  }

  /** Reads a credential for a stream, without recording a use. Requests read it separately. */
  async #renew(text: string): Promise<User | null> {
    const state = await this.#options.read(text, false);
    return this.#learn(text, state, this.#known.get(text)?.readAt ?? -Infinity)?.user ?? null;
  }

  #learn(text: string, state: CredentialState | null, readAt: number): Identification | null {
    const known = this.#known.get(text);
    // The credential has ended while the store was read.
    if (known === null) return null;
    if (state === null) {
      // Unknown credentials are not cached, because invented strings would displace credentials in
      // use.
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

/** Compares users of one credential, which have the same members in the same order. */
function isSameUser(left: User, right: User): boolean {
  return JSON.stringify(left) === JSON.stringify(right);
}
