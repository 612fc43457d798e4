import type { ColumnInfo } from "../../schema/table_info.ts";
import type { Grant, User } from "../../auth/authorize.ts";
import { noRows } from "../../filter/filter.ts";
import { liveQueryKey } from "../live_view.ts";
import type { LiveStream, StreamPart } from "./live_stream.ts";
import type { StreamSlot } from "./stream_quota.ts";
import { liveQueryOf, requireRecorded, type StreamRequest } from "./stream_request.ts";
import { hasFixedScope, type ScopeHolder, type ScopeRecheck } from "./scope_recheck.ts";
import type { Credentials } from "../../auth/authenticator.ts";
import { randomDelayBetween, type Runtime } from "../../runtime/runtime.ts";

interface StreamSessionOptions {
  readonly openedAt: number;
  readonly endsAt: number;
  readonly expiresAt: number;
  readonly quotaSlot: StreamSlot;
  readonly part: StreamPart | null;
  readonly excluded: ReadonlySet<ColumnInfo>;
}

type GrantedRequest = Omit<StreamRequest, "address" | "disconnected" | "part">;

/** The record of an open stream. To save memory, it keeps the request only if rights can change. */
export class StreamSession implements ScopeHolder {
  readonly options: StreamSessionOptions;
  readonly user: User | null;
  readonly stream: LiveStream;
  /** The request that determined the rights; null if the rights cannot change. */
  readonly #request: GrantedRequest | null;
  /** The rows and the view that the current grants allow; null if the rights cannot change. */
  #grantedView: Pick<GrantedRequest, "scope" | "view"> | null;
  readonly #related: readonly ScopeHolder[];

  constructor(request: StreamRequest, stream: LiveStream, options: StreamSessionOptions) {
    const { view: { rights } } = request;
    this.stream = stream;
    this.user = request.user;
    this.options = options;
    this.#request = hasFixedScope(request) && rights.length === 0
      ? null
      : grantedRequest(request, stream);
    this.#grantedView = this.#request;
    this.#related = rights.length === 0 ? none : rights.map((_right, index) => ({
      regrant: (grant) => this.#regrantRelated(index, grant),
      revoke: () => this.revoke(),
      // The session itself checks which fields the user may read, so the related grants do not.
      sameFieldsAs: () => true,
    }));
  }

  watch(scopes: ScopeRecheck, credentials: CredentialRecheck): void {
    credentials.add(this.user, this);
    const granted = this.#request;
    if (granted === null) return;
    scopes.add(granted, granted.scope, this);
    granted.view.rights.forEach((right, index) => {
      const holder = this.#related[index];
      if (holder !== undefined) scopes.add(right, right.grant?.rows ?? noRows, holder);
    });
  }

  unwatch(scopes: ScopeRecheck, credentials: CredentialRecheck): void {
    credentials.remove(this.user, this);
    const granted = this.#request;
    if (granted === null) return;
    scopes.remove(granted, this);
    granted.view.rights.forEach((right, index) => {
      const holder = this.#related[index];
      if (holder !== undefined) scopes.remove(right, holder);
    });
  }

  regrant(grant: Grant | null): void {
    if (grant === null) this.revoke();
    else if (this.#grantedView !== null) this.#apply({ ...this.#grantedView, scope: grant.rows });
  }

  #regrantRelated(index: number, grant: Grant | null): void {
    if (this.#grantedView === null) return;
    const { scope, view } = this.#grantedView;
    this.#apply({ scope, view: view.rights[index]?.regranted(grant) ?? view });
  }

  revoke(): void {
    this.stream.expire();
  }

  sameFieldsAs(user: User | null): boolean {
    return this.#request?.sameFieldsAs?.(user) ?? true;
  }

  #apply({ scope, view }: Pick<GrantedRequest, "scope" | "view">): void {
    if (this.#request === null) return;
    this.#grantedView = { scope, view };
    const grantedView = { ...this.#request, scope, view };
    // Throws if the new rights read an unrecorded column, whose changes the stream would miss.
    requireRecorded(grantedView, this.options.excluded);
    const query = liveQueryOf(grantedView);
    if (liveQueryKey(query) === liveQueryKey(this.stream.query)) return;
    this.stream.switchQuery(query, "scope_changed");
  }
}

const none: readonly ScopeHolder[] = Object.freeze([]);

function grantedRequest(request: StreamRequest, { query }: LiveStream): GrantedRequest {
  const { address: _address, disconnected: _disconnected, part: _part, ...granted } = request;
  // Without grants for related rows, all streams with an equal query share its view object.
  return granted.view.rights.length === 0 ? { ...granted, view: query.view } : granted;
}

/** Visits each stream about every 15 seconds, and ends expired streams. Uses one timer for all. */
export function visitRegularly(
  runtime: Runtime,
  sessions: ReadonlyMap<LiveStream, StreamSession>,
  visit: (due: readonly LiveStream[]) => Promise<void>,
): () => void {
  const { clock } = runtime;
  let last = clock.elapsedMs();
  let cancel = () => {};
  const wait = () => {
    cancel = clock.after(randomDelayBetween(runtime, 0.8 * visitMs, 1.2 * visitMs), () => {
      wait();
      const now = clock.elapsedMs();
      const due: LiveStream[] = [];
      for (const { stream, options: { expiresAt, endsAt } } of sessions.values()) {
        const roundOf = (at: number) => Math.floor((at - endsAt) / roundMs);
        if (expiresAt <= now) stream.expire();
        else if (roundOf(now) > roundOf(last)) due.push(stream);
      }
      last = now;
      if (due.length > 0) void visit(due);
    });
  };
  wait();
  return () => cancel();
}

const visitMs = 500;
const roundMs = 15_000;

interface CredentialHolder {
  revoke(): void;
}

interface Entry {
  readonly holders: Set<CredentialHolder>;
  current: User;
  /** Monotonic time of the first failed check since the last success; null after a success. */
  failingSince: number | null;
}

interface CredentialRecheckOptions extends Pick<Runtime, "observe" | "clock"> {
  readonly credentials: Pick<Credentials, "of">;
  /** Called when a check returns a changed user for a credential, for instance with other roles. */
  readonly onChange: (user: User) => void;
}

/** Ends streams when their credential expires or is revoked, or cannot be read for a minute. */
export class CredentialRecheck {
  readonly #options: CredentialRecheckOptions;
  readonly #entries = new Map<User, Entry>();

  constructor(options: CredentialRecheckOptions) {
    this.#options = options;
  }

  expiryOf(user: User | null): number {
    if (user === null) return Infinity;
    return this.#options.credentials.of(user)?.expiresAt ?? Infinity;
  }

  current(user: User | null): User | null {
    return user === null ? null : this.#entries.get(user)?.current ?? user;
  }

  /** Adds a stream, unless its credential has no `renew` function and cannot be checked again. */
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
