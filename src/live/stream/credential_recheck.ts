import type { Credentials } from "../../auth/credentials.ts";
import type { User } from "../../auth/user.ts";
import type { Runtime } from "../../runtime/runtime.ts";

/** Holds an open stream that ends with the credential of its caller. */
export interface CredentialHolder {
  /** The credential has ended. */
  revoke(): void;
}

interface Entry {
  readonly holders: Set<CredentialHolder>;
  /** The user as it is now. */
  current: User;
  /** When the credential could not be read for the first time, by the monotonic clock. */
  failingSince: number | null;
}

/** What the recheck of credentials works with. */
export interface CredentialRecheckOptions extends Pick<Runtime, "observe" | "clock"> {
  readonly credentials: Pick<Credentials, "of">;
  /** Called where a credential stands for another user object than before: other roles. */
  readonly onChange: (user: User) => void;
}

/**
 * The recheck of credentials while streams are open: each is read again once, however many streams
 * were opened with it, and its streams end with it. A credential that cannot be read is trusted for
 * a minute: a store that fails for a moment must not end every stream.
 */
export class CredentialRecheck {
  readonly #options: CredentialRecheckOptions;
  /** By the user object, which stands for one credential. */
  readonly #entries = new Map<User, Entry>();

  /** Begins without holders. */
  constructor(options: CredentialRecheckOptions) {
    this.#options = options;
  }

  /** When the credential of a caller ends, in milliseconds since 1970. */
  expiryOf(user: User | null): number {
    if (user === null) return Infinity;
    return this.#options.credentials.of(user)?.expiresAt ?? Infinity;
  }

  /** The user of a credential as it is now. */
  current(user: User | null): User | null {
    return user === null ? null : this.#entries.get(user)?.current ?? user;
  }

  /** Adds a holder; nothing is read again for a credential that cannot end by itself. */
  add(user: User | null, holder: CredentialHolder): void {
    if (user === null || this.#options.credentials.of(user)?.renew === undefined) return;
    const known = this.#entries.get(user);
    const entry = known ??
      { holders: new Set<CredentialHolder>(), current: user, failingSince: null };
    entry.holders.add(holder);
    this.#entries.set(user, entry);
    // At once: the request may have been trusted by what was read before the credential ended.
    if (known === undefined) void this.#check(user, entry);
  }

  /** Removes a holder. */
  remove(user: User | null, holder: CredentialHolder): void {
    const entry = user === null ? undefined : this.#entries.get(user);
    if (user === null || entry === undefined) return;
    entry.holders.delete(holder);
    if (entry.holders.size === 0) this.#entries.delete(user);
  }

  /** Reads all credentials again, a few at a time. */
  async recheck(): Promise<void> {
    const waiting = [...this.#entries].values();
    const checkNext = async () => {
      for (const [user, entry] of waiting) await this.#check(user, entry);
    };
    await Promise.all(Array.from({ length: maxConcurrentChecks }, checkNext));
  }

  async #check(user: User, entry: Entry): Promise<void> {
    try {
      const current = await this.#options.credentials.of(user)?.renew?.();
      entry.failingSince = null;
      if (current === undefined || current === entry.current) return;
      if (current === null) return revokeAll(entry);
      entry.current = current;
      this.#options.onChange(user);
    } catch (error) {
      this.#failed(entry, error);
    }
  }

  #failed(entry: Entry, error: unknown): void {
    const { clock, observe } = this.#options;
    const now = clock.elapsedMs();
    if (entry.failingSince === null) observe({ kind: "credential_unread", error });
    entry.failingSince ??= now;
    if (now - entry.failingSince >= maxFailingMs) revokeAll(entry);
  }
}

const maxConcurrentChecks = 32;
const maxFailingMs = 60_000;

function revokeAll({ holders }: Entry): void {
  for (const holder of [...holders]) holder.revoke();
}
