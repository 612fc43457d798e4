import type { Grant } from "../auth/authorize.ts";
import { noRows } from "../filter/filter.ts";
import { invalidateText } from "./frames.ts";
import { groupKey } from "./group.ts";
import type { LiveStream } from "./live_stream.ts";
import type { ScopeHolder, ScopeWatch } from "./scope_watch.ts";
import { interestOf, type StreamRequest } from "./stream_request.ts";

/** When a stream ends, and what it takes up until then. */
export interface TicketFacts {
  readonly slot: number;
  readonly endsAt: number;
  readonly expiresAt: number;
  readonly freePlace: () => void;
}

/** What a hub knows of a stream. It holds the right to the rows, which may become another one. */
export class Ticket implements ScopeHolder {
  readonly slot: number;
  readonly endsAt: number;
  readonly expiresAt: number;
  readonly freePlace: () => void;
  readonly request: StreamRequest;
  readonly stream: LiveStream;
  /** What is seen by the rights of now. */
  #sight: Pick<StreamRequest, "scope" | "view">;
  readonly #related: readonly RelatedHolder[];

  constructor(request: StreamRequest, stream: LiveStream, facts: TicketFacts) {
    this.request = request;
    this.stream = stream;
    this.slot = facts.slot;
    this.endsAt = facts.endsAt;
    this.expiresAt = facts.expiresAt;
    this.freePlace = facts.freePlace;
    this.#sight = request;
    this.#related = request.view.rights.map((_right, index) => new RelatedHolder(this, index));
  }

  /** Has all its rights looked at from time to time. */
  watch(scopes: ScopeWatch): void {
    const { request } = this;
    scopes.add(request, request.scope, this);
    request.view.rights.forEach((right, index) => {
      const holder = this.#related[index];
      if (holder !== undefined) scopes.add(right, right.grant?.rows ?? noRows, holder);
    });
  }

  /** The opposite of {@link watch}. */
  unwatch(scopes: ScopeWatch): void {
    scopes.remove(this.request, this);
    this.request.view.rights.forEach((right, index) => {
      const holder = this.#related[index];
      if (holder !== undefined) scopes.remove(right, holder);
    });
  }

  regrant(grant: Grant | null): void {
    if (grant === null) this.revoke();
    else this.#see({ ...this.#sight, scope: grant.rows });
  }

  /** The same for a right that what is shown under the rows hangs on. */
  regrantRelated(index: number, grant: Grant | null): void {
    const { scope, view } = this.#sight;
    this.#see({ scope, view: view.rights[index]?.regranted(grant) ?? view });
  }

  revoke(): void {
    this.stream.end(invalidateText("auth_expired"));
  }

  #see({ scope, view }: Pick<StreamRequest, "scope" | "view">): void {
    this.#sight = { scope, view };
    const interest = interestOf({ ...this.request, scope, view });
    if (groupKey(interest) === groupKey(this.stream.interest)) return;
    this.stream.move(interest, "scope_changed");
  }
}

/** Holds the right to rows that are shown under others. */
class RelatedHolder implements ScopeHolder {
  readonly #ticket: Ticket;
  readonly #index: number;

  constructor(ticket: Ticket, index: number) {
    this.#ticket = ticket;
    this.#index = index;
  }

  regrant(grant: Grant | null): void {
    this.#ticket.regrantRelated(this.#index, grant);
  }

  revoke(): void {
    this.#ticket.revoke();
  }
}
