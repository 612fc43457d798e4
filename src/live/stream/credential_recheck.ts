import type { Credentials } from "../../auth/authenticator.ts";
import type { User } from "../../auth/authorize.ts";
import type { Runtime } from "../../runtime/runtime.ts";

/** An open stream, which ends when the credential that opened it ends. */
export interface CredentialHolder {
  /** Ends the stream after the end of the credential. */
  revoke(): void;
}

interface Entry {
  readonly holders: Set<CredentialHolder>;
  current: User;
  /** Monotonic time since which reads of the credential have failed; null if the last succeeded. */
  failingSince: number | null;
}

export interface CredentialRecheckOptions extends Pick<Runtime, "observe" | "clock"> {
  readonly credentials: Pick<Credentials, "of">;
  /** Called when a check returns a changed user for a credential, for instance with other roles. */
  readonly onChange: (user: User) => void;
}

/**
 * Checks credentials regularly while streams are open. A check reads a credential once, however
 * many streams use the credential. When a credential expires or is revoked, its streams end. If a
 * credential cannot be read, it is trusted for a minute, because a short failure of the store must
 * not end every stream.
 */
export class CredentialRecheck {
  readonly #options: CredentialRecheckOptions;
  readonly #entries = new Map<User, Entry>();

  constructor(options: CredentialRecheckOptions) {
    this.#options = options;
  }

  /** Returns when a user's credential expires, in milliseconds since 1970; `Infinity` if never. */
  expiryOf(user: User | null): number {
    if (user === null) return Infinity;
    return this.#options.credentials.of(user)?.expiresAt ?? Infinity;
  }

  current(user: User | null): User | null {
    return user === null ? null : this.#entries.get(user)?.current ?? user;
  }

  /** Adds a stream. A credential without a `renew` function cannot be read again. */
  add(user: User | null, holder: CredentialHolder): void {
    if (user === null || this.#options.credentials.of(user)?.renew === undefined) return;
    const known = this.#entries.get(user);
    const entry = known ??
      { holders: new Set<CredentialHolder>(), current: user, failingSince: null };
    entry.holders.add(holder);
    this.#entries.set(user, entry);
    // Checks immediately: the credential may have ended between its last read and this call.
    if (known === undefined) void this.#check(user, entry);
  }

  remove(user: User | null, holder: CredentialHolder): void {
    const entry = user === null ? undefined : this.#entries.get(user);
    if (user === null || entry === undefined) return;
    entry.holders.delete(holder);
    if (entry.holders.size === 0) this.#entries.delete(user);
  }

  /** Checks all credentials, a few at the same time. */
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
