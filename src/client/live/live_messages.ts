import type { ProblemBody } from "../../protocol/problem_codes.ts";
import type { ServiceError } from "../request/service_error.ts";

/** The id of a row in events: its key value, or a list of values for a composite key. */
export type LiveRowId = unknown;

/** A row of a live list. */
export type LiveRow = Readonly<Record<string, unknown>>;

/** How rows are identified and sorted. Each subscription starts with this description. */
export interface RowDescription {
  /** The fields of the primary key, in the order of the key. */
  readonly primaryKey: readonly string[];
  /** The types of the readable fields. */
  readonly types: FieldTypes;
  /** The values that a new row's fields get if its body omits them: constant defaults and NULL. */
  readonly defaults?: LiveRow | undefined;
}

/** The type of each readable field. */
export type FieldTypes = Readonly<Record<string, FieldType>>;

/**
 * The type of a field. For a list column, it is the type of the elements. `any` means numbers and
 * strings mixed. For a Postgres enum, it is the list of labels in order.
 */
export type FieldType = string | readonly string[];

/** The rows of a live list as of one position in the change log. A seed is valid JSON. */
export interface LiveSeed extends RowDescription {
  /** The rows, in no particular order. */
  readonly items: readonly LiveRow[];
  /** The row ids, because rows lack their keys if `select` omits the key fields. */
  readonly ids: readonly LiveRowId[];
  /** The position in the change log up to which the rows contain all changes. */
  readonly token: string;
}

/** A message to a live list, aggregate or collection from its connection. */
export type LiveMessage =
  /** The service has accepted the subscription. */
  | (RowDescription & {
    readonly type: "opened";
    /**
     * True if the stream continues after the token in the request. If the previous stream has sent
     * newer tokens since then, some changes arrive twice. If false, the service sends all rows.
     */
    readonly isResumed: boolean;
    /** The number of streams that the client has requested so far, including this one. */
    readonly asked: number;
  })
  | RowsEvent
  | AggregateEvent
  /** The subscriber now has all changes up to this position in the change log. */
  | { readonly type: "token"; readonly token: string }
  | { readonly type: "status"; readonly status: LiveStatus; readonly error: ServiceError | null };

export type RowsEvent =
  | {
    readonly type: "existing";
    readonly items: readonly LiveRow[];
    /** The row ids. Absent if the rows contain their complete keys. */
    readonly ids?: readonly LiveRowId[];
  }
  | { readonly type: "added" | "changed"; readonly id: LiveRowId; readonly item: LiveRow }
  | { readonly type: "removed"; readonly id: LiveRowId; readonly _optimisticId?: string }
  | { readonly type: "invalidate" };

export interface AggregateEvent {
  readonly type: "aggregate";
  readonly groups: readonly unknown[];
  readonly hasMore: boolean;
}

/** The data of one event in a stream of `POST /__service/live`. */
export type StreamEventData =
  | RowsEvent
  | AggregateEvent
  /** Names the subscription of the next events. The first such message also describes the rows. */
  | (
    & { readonly type: "subscription"; readonly key: string }
    & (
      | RowDescription
      | { readonly types?: never }
    )
  )
  | RefusedSubscription
  | { readonly type: "ended"; readonly key: string };

/** The service refused a subscription, with the problem that `/subscribe` would return. */
export interface RefusedSubscription {
  readonly type: "refused";
  readonly key: string;
  readonly status: number;
  readonly problem: ProblemBody;
  /** Seconds until the client may try again. */
  readonly retryAfter?: number;
}

/**
 * The status of a live list. `connecting`: there are no rows yet. `live`: the rows are current.
 * `stale`: the stream is broken. `offline`: there is no network. `limited`: the service asks the
 * client to wait. `needs-auth`: the token must change. `closed`: ended permanently.
 */
export type LiveStatus =
  | "connecting"
  | "live"
  | "stale"
  | "offline"
  | "limited"
  | "needs-auth"
  | "closed";

/** A subscriber of a connection: a live list, an aggregate or a collection. */
export interface Subscriber {
  /** The path and query of a `/subscribe` request that would receive the same events. */
  readonly path: string;
  /** Returns the position up to which the subscriber has all changes; null if it has no rows. */
  token(): string | null;
  receive(message: LiveMessage): void;
}

/** The connection that all live lists, aggregates and collections of a client share. */
export interface LiveConnection {
  /** Adds a subscriber. Returns a function that removes it. */
  add(subscriber: Subscriber): () => void;
  /** Opens a new stream, which sends each subscriber all changes after the subscriber's token. */
  reopen(): void;
  /** Requests refused subscriptions again without waiting, for instance after a sign-in. */
  wake(): void;
}
