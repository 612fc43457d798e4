import type { Credentials } from "../../auth/credentials.ts";
import type { User } from "../../auth/user.ts";
import type { Runtime } from "../../runtime/runtime.ts";

/** An open stream that ends when the credential of its caller ends. */
export interface CredentialHolder {
  /** Ends the stream, because the credential has ended. */
  revoke(): void;
}

interface Entry {
  readonly holders: Set<CredentialHolder>;
  current: User;
  /** The monotonic time of the credential's first failed read, or null if no read has failed. */
  failingSince: number | null;
}

export interface CredentialRecheckOptions extends Pick<Runtime, "observe" | "clock"> {
  readonly credentials: Pick<Credentials, "of">;
  /** Called when a credential belongs to a changed user object, for instance with other roles. */
  readonly onChange: (user: User) => void;
}

/**
 * Rechecks credentials while streams are open. Each credential is read once, however many streams
 * were opened with it, and its streams end when the credential ends. A credential that cannot be
 * read is trusted for a minute, because a short failure of the store must not end every stream.
 */
export class CredentialRecheck {
  readonly #options: CredentialRecheckOptions;
  /** The entries by user object, which represents one credential. */
  readonly #entries = new Map<User, Entry>();

  constructor(options: CredentialRecheckOptions) {
    this.#options = options;
  }

  /** Returns the expiry of a caller's credential, in milliseconds since 1970. */
  expiryOf(user: User | null): number {
    if (user === null) return Infinity;
    return this.#options.credentials.of(user)?.expiresAt ?? Infinity;
  }

  current(user: User | null): User | null {
    return user === null ? null : this.#entries.get(user)?.current ?? user;
  }

  /** Adds a holder. A credential without a `renew` function is never read again. */
  add(user: User | null, holder: CredentialHolder): void {
    if (user === null || this.#options.credentials.of(user)?.renew === undefined) return;
    const known = this.#entries.get(user);
    const entry = known ??
      { holders: new Set<CredentialHolder>(), current: user, failingSince: null };
    entry.holders.add(holder);
    this.#entries.set(user, entry);
    // The check is immediate, because the request may have relied on a read before the credential
    // ended.
    if (known === undefined) void this.#check(user, entry);
  }

  remove(user: User | null, holder: CredentialHolder): void {
    const entry = user === null ? undefined : this.#entries.get(user);
    if (user === null || entry === undefined) return;
    entry.holders.delete(holder);
    if (entry.holders.size === 0) this.#entries.delete(user);
  }

  /** Reads all credentials again, a few at the same time. */
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
