import type { ColumnInfo } from "../../schema/table_info.ts";
import type { Grant } from "../../auth/authorize.ts";
import { noRows } from "../../filter/filter.ts";
import { liveQueryKey } from "../live_query.ts";
import type { LiveStream } from "./live_stream.ts";
import type { StreamSlot } from "./stream_quota.ts";
import { requireRecorded } from "./require_recorded.ts";
import { hasFixedScope, type ScopeHolder, type ScopeRecheck } from "./scope_recheck.ts";
import { liveQueryOf, type StreamRequest } from "./stream_request.ts";

/** When a stream ends, and what it takes up until then. */
export interface StreamSessionOptions {
  readonly slot: number;
  readonly endsAt: number;
  readonly expiresAt: number;
  readonly quotaSlot: StreamSlot;
  /** The columns that are never recorded. */
  readonly excluded: ReadonlySet<ColumnInfo>;
}

/** What a stream was opened by, as far as its rights may become others. */
type GrantedRequest = Omit<StreamRequest, "address" | "disconnected">;

/**
 * What a hub knows of a stream. It holds the right to the rows, which may become another one, and
 * nothing of the request beside: there are many streams, and they last.
 */
export class StreamSession implements ScopeHolder {
  readonly slot: number;
  readonly endsAt: number;
  readonly expiresAt: number;
  readonly quotaSlot: StreamSlot;
  readonly stream: LiveStream;
  readonly #excluded: ReadonlySet<ColumnInfo>;
  /** Null where nothing can change what is seen. */
  readonly #claim: GrantedRequest | null;
  /** What is seen by the rights of now. */
  #grantedView: Pick<GrantedRequest, "scope" | "view"> | null;
  readonly #related: readonly RelatedHolder[];

  constructor(request: StreamRequest, stream: LiveStream, facts: StreamSessionOptions) {
    const { view: { rights } } = request;
    this.stream = stream;
    this.slot = facts.slot;
    this.endsAt = facts.endsAt;
    this.expiresAt = facts.expiresAt;
    this.quotaSlot = facts.quotaSlot;
    this.#excluded = facts.excluded;
    this.#claim = hasFixedScope(request) && rights.length === 0 ? null : claimOf(request, stream);
    this.#grantedView = this.#claim;
    this.#related = rights.length === 0
      ? none
      : rights.map((_right, index) => new RelatedHolder(this, index));
  }

  /** Has all its rights looked at from time to time. */
  watch(scopes: ScopeRecheck): void {
    const claim = this.#claim;
    if (claim === null) return;
    scopes.add(claim, claim.scope, this);
    claim.view.rights.forEach((right, index) => {
      const holder = this.#related[index];
      if (holder !== undefined) scopes.add(right, right.grant?.rows ?? noRows, holder);
    });
  }

  /** The opposite of {@link watch}. */
  unwatch(scopes: ScopeRecheck): void {
    const claim = this.#claim;
    if (claim === null) return;
    scopes.remove(claim, this);
    claim.view.rights.forEach((right, index) => {
      const holder = this.#related[index];
      if (holder !== undefined) scopes.remove(right, holder);
    });
  }

  regrant(grant: Grant | null): void {
    if (grant === null) this.revoke();
    else if (this.#grantedView !== null) this.#see({ ...this.#grantedView, scope: grant.rows });
  }

  /** The same for a right that what is shown under the rows hangs on. */
  regrantRelated(index: number, grant: Grant | null): void {
    if (this.#grantedView === null) return;
    const { scope, view } = this.#grantedView;
    this.#see({ scope, view: view.rights[index]?.regranted(grant) ?? view });
  }

  revoke(): void {
    this.stream.expire();
  }

  #see({ scope, view }: Pick<GrantedRequest, "scope" | "view">): void {
    if (this.#claim === null) return;
    this.#grantedView = { scope, view };
    const grantedView = { ...this.#claim, scope, view };
    // What this throws ends the stream: asked of another column, it would be silent.
    requireRecorded(grantedView, this.#excluded);
    const query = liveQueryOf(grantedView);
    if (liveQueryKey(query) === liveQueryKey(this.stream.query)) return;
    this.stream.switchQuery(query, "scope_changed");
  }
}

const none: readonly RelatedHolder[] = Object.freeze([]);

function claimOf(
  { resource, access, policy, user, table, reader, scope, filter, view }: StreamRequest,
  { query }: LiveStream,
): GrantedRequest {
  return {
    resource,
    access,
    policy,
    user,
    table,
    reader,
    scope,
    filter,
    // Without rights, those who see the same share the view as well.
    view: view.rights.length === 0 ? query.view : view,
  };
}

/** Holds the right to rows that are shown under others. */
class RelatedHolder implements ScopeHolder {
  readonly #session: StreamSession;
  readonly #index: number;

  constructor(session: StreamSession, index: number) {
    this.#session = session;
    this.#index = index;
  }

  regrant(grant: Grant | null): void {
    this.#session.regrantRelated(this.#index, grant);
  }

  revoke(): void {
    this.#session.revoke();
  }
}
