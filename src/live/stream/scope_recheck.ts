import { authorize, type Grant } from "../../auth/authorize.ts";
import type { AccessPolicy } from "../../auth/scope.ts";
import type { User } from "../../auth/user.ts";
import { canonicalFilterText } from "../../filter/canonical_filter.ts";
import { type Filter, noRows } from "../../filter/filter.ts";
import { Problem } from "../../problem/problem.ts";
import { deadline } from "../../runtime/deadline.ts";
import type { Runtime } from "../../runtime/runtime.ts";

/** Who wants what, and under which right. */
export interface ScopedRequest {
  /** Where the resource is mounted. */
  readonly resource: string;
  readonly access: "subscribe" | "read";
  readonly policy: AccessPolicy;
  readonly user: User | null;
}

/** Somebody whose right is looked at again. */
export interface ScopeHolder {
  /** This is the right now; it may be the same as before, and null is none. */
  regrant(grant: Grant | null): void;
  /** Nobody knows what the right is: asking has failed. */
  revoke(): void;
}

interface Entry {
  readonly watched: ScopedRequest;
  readonly holders: Set<ScopeHolder>;
  /** The canonical text of the scope that the holders have; empty where they differ. */
  scope: string;
}

/**
 * Asks the scopes of open streams again: once for each credential and resource, however many
 * streams were opened by it. A user may come with several credentials, whose roles and claims
 * differ, and no stream must go on by those of another. What a scope throws denies here as it does
 * on a request.
 */
export class ScopeRecheck {
  readonly #runtime: Pick<Runtime, "observe" | "clock">;
  /** By the user as the middleware gave it: two that share an id may be granted different rows. */
  readonly #entries = new Map<User, Map<string, Entry>>();

  /** Watches nobody yet. */
  constructor(runtime: Pick<Runtime, "observe" | "clock">) {
    this.#runtime = runtime;
  }

  /** Watches for somebody who may see `rows` now. */
  add(watched: ScopedRequest, rows: Filter, holder: ScopeHolder): void {
    const { user } = watched;
    if (user === null || hasFixedScope(watched)) return;
    const entries = this.#entries.get(user) ?? new Map<string, Entry>();
    this.#entries.set(user, entries);
    const key = keyOf(watched);
    const scope = canonicalFilterText(rows);
    const entry = entries.get(key) ?? { watched, holders: new Set<ScopeHolder>(), scope };
    // It changed between two looks: the next one compares for each holder.
    if (entry.scope !== scope) entry.scope = mixed;
    entry.holders.add(holder);
    entries.set(key, entry);
  }

  /** Watches for somebody no more. */
  remove(watched: ScopedRequest, holder: ScopeHolder): void {
    const { user } = watched;
    const entries = user === null ? undefined : this.#entries.get(user);
    if (user === null || entries === undefined) return;
    const key = keyOf(watched);
    const entry = entries.get(key);
    entry?.holders.delete(holder);
    if (entry?.holders.size === 0) entries.delete(key);
    if (entries.size === 0) this.#entries.delete(user);
  }

  /** Looks at everybody's right again, a few at a time. */
  async recheck(): Promise<void> {
    const waiting = [...this.#entries.values()].flatMap((own) => [...own.values()]).values();
    const lookOn = async () => {
      for (const entry of waiting) await this.#lookAt(entry);
    };
    await Promise.all(Array.from({ length: atOnce }, lookOn));
  }

  async #lookAt(entry: Entry): Promise<void> {
    try {
      const { resource } = entry.watched;
      const tooLate = () => new Error(`The scope of ${resource} took over ${maxMs} ms`);
      const limit = deadline(maxMs, this.#runtime.clock, tooLate);
      const grant = await limit.within(grantNow(entry.watched));
      const scope = canonicalFilterText(grant?.rows ?? noRows);
      if (scope === entry.scope) return;
      entry.scope = scope;
      for (const holder of [...entry.holders]) holder.regrant(grant);
    } catch (error) {
      this.#runtime.observe({ kind: "stream_failed", resource: entry.watched.resource, error });
      for (const holder of [...entry.holders]) holder.revoke();
    }
  }
}

/** What is open to everybody has no scope that could change. */
export function hasFixedScope({ access, policy, user }: ScopedRequest): boolean {
  return user === null || policy.public.has(access);
}

async function grantNow({ access, user, policy }: ScopedRequest): Promise<Grant | null> {
  try {
    return await authorize(access, user, policy);
  } catch (error) {
    if (error instanceof Problem) return null;
    throw error;
  }
}

const atOnce = 8;

/** A scope that never answers must not keep the others from being asked. */
const maxMs = 10_000;

/** No scope has this text. */
const mixed = "";

function keyOf({ resource, access }: ScopedRequest): string {
  return `${access} ${resource}`;
}
