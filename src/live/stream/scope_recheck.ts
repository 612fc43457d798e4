import { authorize, type Grant } from "../../auth/authorize.ts";
import type { AccessPolicy } from "../../auth/scope.ts";
import type { User } from "../../auth/user.ts";
import { canonicalFilterText } from "../../filter/canonical_filter.ts";
import { type Filter, noRows } from "../../filter/filter.ts";
import { Problem } from "../../problem/problem.ts";
import { deadline } from "../../runtime/deadline.ts";
import type { Runtime } from "../../runtime/runtime.ts";

/**
 * A request whose scope may be checked again: its user, and the policy by which its rows were
 * granted.
 */
export interface ScopedRequest {
  /** Where the resource is mounted. */
  readonly resource: string;
  readonly access: "subscribe" | "read";
  readonly policy: AccessPolicy;
  readonly user: User | null;
  /**
   * Returns true if the user has the fields still that the stream was opened with; null if they cannot
   * change by themselves. It may throw.
   */
  readonly sameFieldsAs: ((user: User | null) => boolean) | null;
}

/** Holds the grant of an open stream whose scope is checked again. */
export interface ScopeHolder {
  /** The grant is this one now; it may be the same as before, and null is none. */
  regrant(grant: Grant | null): void;
  /** The grant is unknown, because the scope has failed, or fields are no longer those of the user. */
  revoke(): void;
  /** As {@link ScopedRequest.sameFieldsAs} of its own request. */
  sameFieldsAs(user: User | null): boolean;
}

interface Entry {
  readonly request: ScopedRequest;
  readonly holders: Set<ScopeHolder>;
  /** The canonical text of the scope that the holders have; empty where they differ. */
  scope: string;
}

/**
 * The recheck of scopes while streams are open: each is evaluated once for each credential and
 * resource, however many streams were opened with it. A user may have several credentials, whose
 * roles and claims differ, and no stream may continue by those of another. A Problem that a scope
 * throws denies here as it does on a request.
 */
export class ScopeRecheck {
  readonly #runtime: Pick<Runtime, "observe" | "clock">;
  readonly #currentUser: (user: User | null) => User | null;
  /**
   * By the user object of the middleware: two that share an id may be granted different rows. The
   * callers without a user are granted the same ones.
   */
  readonly #entries = new Map<User | null, Map<string, Entry>>();

  /** Begins without holders. `currentUser` gives the user of a credential as it is now. */
  constructor(
    runtime: Pick<Runtime, "observe" | "clock">,
    currentUser: (user: User | null) => User | null,
  ) {
    this.#runtime = runtime;
    this.#currentUser = currentUser;
  }

  /** Adds a holder that was granted `rows`. */
  add(request: ScopedRequest, rows: Filter, holder: ScopeHolder): void {
    if (hasFixedScope(request)) return;
    const { user } = request;
    const entries = this.#entries.get(user) ?? new Map<string, Entry>();
    this.#entries.set(user, entries);
    const key = keyOf(request);
    const scope = canonicalFilterText(rows);
    const entry = entries.get(key) ?? { request, holders: new Set<ScopeHolder>(), scope };
    // The scope changed between two checks: the next one regrants all holders.
    if (entry.scope !== scope) entry.scope = mixed;
    entry.holders.add(holder);
    entries.set(key, entry);
  }

  /** Removes a holder. */
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

  /** Checks all grants again, a few at a time. */
  async recheck(): Promise<void> {
    await this.#checkAll([...this.#entries.values()].flatMap((own) => [...own.values()]));
  }

  /** Checks the grants of one credential again, whose user has changed. */
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
      const grant = await limit.within(
        grantNow({ ...request, user }),
      );
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

/**
 * Returns true if the scope needs no recheck: access to all rows by `public`, and that without a user to
 * rows of no public scope, cannot change. Fields that depend on the user can.
 */
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

/** A scope that never resolves must not keep the others from being checked. */
const maxMs = 10_000;

/** No scope has this string. */
const mixed = "";

function keyOf({ resource, access }: ScopedRequest): string {
  return `${access} ${resource}`;
}
