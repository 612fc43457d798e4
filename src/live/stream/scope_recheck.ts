import { type AccessPolicy, authorize, type Grant, type User } from "../../auth/authorize.ts";
import { canonicalFilterText } from "../../filter/canonical_filter.ts";
import { type Filter, noRows } from "../../filter/filter.ts";
import { Problem } from "../../problem/problem.ts";
import { deadline, type Runtime } from "../../runtime/runtime.ts";

export interface ScopedRequest {
  readonly resource: string;
  readonly access: "subscribe" | "read";
  readonly policy: AccessPolicy;
  readonly user: User | null;
  /** Returns true if a user still has the same fields. Null if fields cannot change. Can throw. */
  readonly sameFieldsAs: ((user: User | null) => boolean) | null;
}

export interface ScopeHolder {
  /** Sets the current grant, which may be the same as before; null if access is now denied. */
  regrant(grant: Grant | null): void;
  /** Ends the stream, because its scope threw an error or its user may now read other fields. */
  revoke(): void;
  sameFieldsAs(user: User | null): boolean;
}

interface Entry {
  readonly request: ScopedRequest;
  readonly holders: Set<ScopeHolder>;
  /** Canonical text of the scope's filter, or {@link mixed} if the streams' scopes differ. */
  scope: string;
}

/** Rechecks scopes by credential and resource: one user's credentials can have different claims. */
export class ScopeRecheck {
  readonly #runtime: Pick<Runtime, "observe" | "clock">;
  readonly #currentUser: (user: User | null) => User | null;
  /** The entries by user object. Two objects with the same user id can have different rights. */
  readonly #entries = new Map<User | null, Map<string, Entry>>();

  /** `currentUser` returns the latest user object of a credential. */
  constructor(
    runtime: Pick<Runtime, "observe" | "clock">,
    currentUser: (user: User | null) => User | null,
  ) {
    this.#runtime = runtime;
    this.#currentUser = currentUser;
  }

  add(request: ScopedRequest, rows: Filter, holder: ScopeHolder): void {
    if (hasFixedScope(request)) return;
    const { user } = request;
    const entries = this.#entries.get(user) ?? new Map<string, Entry>();
    this.#entries.set(user, entries);
    const key = keyOf(request);
    const scope = canonicalFilterText(rows);
    const entry = entries.get(key) ?? { request, holders: new Set<ScopeHolder>(), scope };
    // If the scopes of the entry's streams differ, the next check updates all these streams.
    if (entry.scope !== scope) entry.scope = mixed;
    entry.holders.add(holder);
    entries.set(key, entry);
  }

  remove(request: ScopedRequest, holder: ScopeHolder): void {
    const { user } = request;
    const entries = this.#entries.get(user);
    if (entries === undefined) return;
    const key = keyOf(request);
    const entry = entries.get(key);
    entry?.holders.delete(holder);
    if (entry?.holders.size === 0) entries.delete(key);
    if (entries.size === 0) this.#entries.delete(user);
  }

  async recheck(): Promise<void> {
    await this.#checkAll([...this.#entries.values()].flatMap((own) => [...own.values()]));
  }

  async recheckUser(user: User): Promise<void> {
    await this.#checkAll([...this.#entries.get(user)?.values() ?? []]);
  }

  async #checkAll(entries: readonly Entry[]): Promise<void> {
    const waiting = entries.values();
    const checkNext = async () => {
      for (const entry of waiting) await this.#check(entry);
    };
    await Promise.all(Array.from({ length: maxConcurrentChecks }, checkNext));
  }

  async #check(entry: Entry): Promise<void> {
    try {
      const { request } = entry;
      const { resource } = request;
      const user = this.#currentUser(request.user);
      for (const holder of [...entry.holders]) if (!holder.sameFieldsAs(user)) holder.revoke();
      const tooLate = () => new Error(`The scope of ${resource} took over ${maxMs} ms`);
      const limit = deadline(maxMs, this.#runtime.clock, tooLate);
      const grant = await limit.within(grantNow({ ...request, user }));
      const scope = canonicalFilterText(grant?.rows ?? noRows);
      if (scope === entry.scope) return;
      entry.scope = scope;
      for (const holder of [...entry.holders]) holder.regrant(grant);
    } catch (error) {
      this.#runtime.observe({ kind: "stream_failed", resource: entry.request.resource, error });
      for (const holder of [...entry.holders]) holder.revoke();
    }
  }
}

/** Returns true if the grant cannot change, e.g. because every caller may access all rows. */
export function hasFixedScope({ access, policy, user, sameFieldsAs }: ScopedRequest): boolean {
  if (sameFieldsAs !== null) return false;
  return policy.public.has(access) || (user === null && !policy.publicScopes.has(access));
}

async function grantNow({ access, user, policy }: ScopedRequest): Promise<Grant | null> {
  try {
    return await authorize(access, user, policy);
  } catch (error) {
    if (error instanceof Problem) return null;
    throw error;
  }
}

const maxConcurrentChecks = 8;

/** Timeout of a scope in milliseconds: a scope that never resolves must not block other checks. */
const maxMs = 10_000;

/** Marks an entry whose streams have different scopes. No scope has an empty canonical text. */
const mixed = "";

function keyOf({ resource, access }: ScopedRequest): string {
  return `${access} ${resource}`;
}
