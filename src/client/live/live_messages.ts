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
}

/** The type of each readable field. */
export type FieldTypes = Readonly<Record<string, FieldType>>;

/**
 * The type of a field. A list has the type of its elements, and `any` means numbers and strings.
 * For a Postgres enum, the type is the list of labels in order.
 */
export type FieldType = string | readonly string[];

/** The rows of a live list at one position of the change log. The seed can be sent as JSON. */
export interface LiveSeed extends RowDescription {
  /** The rows, in no particular order. */
  readonly items: readonly LiveRow[];
  /** The ids of the rows, because `select` may have removed key fields from the rows. */
  readonly ids: readonly LiveRowId[];
  /** The position in the change log up to which the rows contain all changes. */
  readonly token: string;
}

/** A message from the connection to a live list or aggregate. */
export type LiveMessage =
  /** A stream has started. */
  | (RowDescription & {
    readonly type: "opened";
    /**
     * True if the stream continues after the token of the request. Otherwise the service sends all
     * rows. The subscriber's own token may be newer than the token of the request.
     */
    readonly isResumed: boolean;
    /** The number of streams requested so far, including this stream. */
    readonly asked: number;
  })
  | RowsEvent
  | AggregateEvent
  /** The stream has sent all changes up to this position in the change log. */
  | { readonly type: "token"; readonly token: string }
  | { readonly type: "status"; readonly status: LiveStatus; readonly error: ServiceError | null };

export type RowsEvent =
  | {
    readonly type: "existing";
    readonly items: readonly LiveRow[];
    /** The ids of the rows. Absent if the rows contain their complete keys. */
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
  /** Selects the subscription of the following events. The first selection describes the rows. */
  | (Partial<RowDescription> & { readonly type: "subscription"; readonly key: string })
  | RefusedSubscription
  | { readonly type: "ended"; readonly key: string };

/** A subscription that the service refused. `/subscribe` would respond with the same problem. */
export interface RefusedSubscription {
  readonly type: "refused";
  readonly key: string;
  readonly status: number;
  readonly problem: ProblemBody;
  /** The delay before another attempt, in seconds. */
  readonly retryAfter?: number;
}

/**
 * The status of a live list. `connecting`: waiting for the first rows. `live`: the stream works.
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
  /** The path and query of the subscription's `/subscribe` route. */
  readonly path: string;
  /** Returns the position up to which the subscriber has all changes. Null if it has no rows. */
  token(): string | null;
  receive(message: LiveMessage): void;
}

/** The connection that the live lists and aggregates of a client share. */
export interface LiveConnection {
  /** Adds a subscriber. Returns a function that removes it. */
  add(subscriber: Subscriber): () => void;
  /** Opens new streams at the subscribers' tokens. The streams thus include all earlier commits. */
  reopen(): void;
  /** Ends the pause of refused subscriptions, for instance after a sign-in. */
  wake(): void;
}
