import { authorize } from "../auth/authorize.ts";
import type { AccessPolicy } from "../auth/scope.ts";
import type { User } from "../auth/user.ts";
import { canonicalKey } from "../filter/canonical.ts";
import type { Filter } from "../filter/filter.ts";
import { Problem } from "../problem/problem.ts";
import type { Runtime } from "../runtime/runtime.ts";

/** Who follows what, and under which right. */
export interface Watched {
  /** Where the resource is mounted. */
  readonly resource: string;
  readonly policy: AccessPolicy;
  readonly user: User | null;
}

/** Somebody whose right is looked at again. */
export interface ScopeHolder {
  /** These are the rows that may be seen now; they may be the same as before. */
  rescope(rows: Filter): void;
  /** The right is gone. */
  revoke(): void;
}

interface Entry {
  readonly watched: Watched;
  readonly holders: Set<ScopeHolder>;
  /** The canonical text of the scope that the holders have; empty where they differ. */
  scope: string;
}

/**
 * Asks the scopes of open streams again: once for each user and resource, however many streams
 * they have. What a scope throws denies here as it does on a request.
 */
export class ScopeWatch {
  readonly #runtime: Pick<Runtime, "observe">;
  readonly #entries = new Map<string, Entry>();

  /** Watches nobody yet. */
  constructor(runtime: Pick<Runtime, "observe">) {
    this.#runtime = runtime;
  }

  /** Watches for somebody whose scope is `rows` now. */
  add(watched: Watched, rows: Filter, holder: ScopeHolder): void {
    if (isFixed(watched)) return;
    const key = keyOf(watched);
    const scope = canonicalKey(rows);
    const entry = this.#entries.get(key) ??
      { watched, holders: new Set<ScopeHolder>(), scope };
    // It changed between two looks: the next one compares for each holder.
    if (entry.scope !== scope) entry.scope = mixed;
    entry.holders.add(holder);
    this.#entries.set(key, entry);
  }

  /** Watches for somebody no more. */
  remove(watched: Watched, holder: ScopeHolder): void {
    const key = keyOf(watched);
    const entry = this.#entries.get(key);
    entry?.holders.delete(holder);
    if (entry?.holders.size === 0) this.#entries.delete(key);
  }

  /** Looks at everybody's right again, a few at a time. */
  async look(): Promise<void> {
    const waiting = [...this.#entries.values()].values();
    const lookOn = async () => {
      for (const entry of waiting) await this.#lookAt(entry);
    };
    await Promise.all(Array.from({ length: atOnce }, lookOn));
  }

  async #lookAt(entry: Entry): Promise<void> {
    const { user, policy, resource } = entry.watched;
    try {
      const { rows } = await authorize("subscribe", user, policy);
      const scope = canonicalKey(rows);
      if (scope === entry.scope) return;
      entry.scope = scope;
      for (const holder of [...entry.holders]) holder.rescope(rows);
    } catch (error) {
      if (!(error instanceof Problem)) {
        this.#runtime.observe({ kind: "stream_failed", resource, error });
      }
      for (const holder of [...entry.holders]) holder.revoke();
    }
  }
}

const atOnce = 8;

/** No scope has this text. */
const mixed = "";

/** What is open to everybody has no scope that could change. */
function isFixed({ policy, user }: Watched): boolean {
  return user === null || policy.public.has("subscribe");
}

function keyOf({ resource, user }: Watched): string {
  return `${resource} ${user?.id ?? ""}`;
}
