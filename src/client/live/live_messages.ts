import type { ProblemBody } from "../../protocol/problem_codes.ts";
import type { ServiceError } from "../request/service_error.ts";

/** The key of a row in events: a value, or a list of values for a composite key. */
export type LiveRowId = unknown;

/** A row of a live list. */
export type LiveRow = Readonly<Record<string, unknown>>;

/** The description of how rows are identified and sorted. A subscription sends it first. */
export interface RowDescription {
  /** The fields of the primary key, in order. */
  readonly primaryKey: readonly string[];
  /** The types of the readable fields. */
  readonly types: FieldTypes;
}

/** The type of each readable field. */
export type FieldTypes = Readonly<Record<string, FieldType>>;

/**
 * The kind of a field. For a list field, the kind of the elements. For a field of numbers and
 * strings, `any`. For a Postgres enum, its labels in order.
 */
export type FieldType = string | readonly string[];

/** The rows of a live list at one position of the change log, as JSON. */
export interface LiveSeed extends RowDescription {
  /** Rows in no particular order. */
  readonly items: readonly LiveRow[];
  /** The ids of the rows, because `select` may omit the key fields. */
  readonly ids: readonly LiveRowId[];
  /** Position of the change log that the rows reflect. */
  readonly token: string;
}

/** A message from the connection to a live list or aggregate. */
export type LiveMessage =
  /** A stream has started. */
  | (RowDescription & {
    readonly type: "opened";
    /**
     * True if the stream continues after the token of the request. Otherwise the service sends all
     * rows. The subscriber's current token cannot show this, because the previous stream may have
     * sent a newer token.
     */
    readonly isResumed: boolean;
    /** Number of streams that had been requested, including this one. */
    readonly asked: number;
  })
  | RowsEvent
  | AggregateEvent
  /** The stream has sent all changes up to a position of the change log. */
  | { readonly type: "token"; readonly token: string }
  | { readonly type: "status"; readonly status: LiveStatus; readonly error: ServiceError | null };

/** An event about rows. */
export type RowsEvent =
  | {
    readonly type: "existing";
    readonly items: readonly LiveRow[];
    /** Ids of the rows; present if `select` omits a part of the key. */
    readonly ids?: readonly LiveRowId[];
  }
  | { readonly type: "added" | "changed"; readonly id: LiveRowId; readonly item: LiveRow }
  | { readonly type: "removed"; readonly id: LiveRowId; readonly _optimisticId?: string }
  | { readonly type: "invalidate" };

/** The event of an aggregate: its new result. */
export interface AggregateEvent {
  readonly type: "aggregate";
  readonly groups: readonly unknown[];
  readonly hasMore: boolean;
}

/** The data of the events of `POST /__service/live`. */
export type SetMessage =
  | RowsEvent
  | AggregateEvent
  /** Selects the subscription of the following events. The first one also describes the rows. */
  | (Partial<RowDescription> & { readonly type: "subscription"; readonly key: string })
  | RefusedSubscription
  | { readonly type: "ended"; readonly key: string };

/** A subscription that the service refused, with the problem of a separate `/subscribe` request. */
export interface RefusedSubscription {
  readonly type: "refused";
  readonly key: string;
  readonly status: number;
  readonly problem: ProblemBody;
  /** Delay before another attempt, in seconds. */
  readonly retryAfter?: number;
}

/**
 * The status of a live list: `connecting` before its first rows, `live`, `stale` while its stream
 * is broken, `offline` without a network, `limited` while the service asks the client to wait,
 * `needs-auth` until there is another token, and `closed` permanently.
 */
export type LiveStatus =
  | "connecting"
  | "live"
  | "stale"
  | "offline"
  | "limited"
  | "needs-auth"
  | "closed";

/** A subscription that a connection follows. */
export interface Subscriber {
  /** Path of the `/subscribe` route, with its query. */
  readonly path: string;
  /** Position up to which the subscriber has all changes; null without rows. Read per stream. */
  token(): string | null;
  receive(message: LiveMessage): void;
}

/** The connection that the live lists and aggregates of a client share. */
export interface LiveConnection {
  /** Adds a subscriber. Returns a function that removes it. */
  add(subscriber: Subscriber): () => void;
  /** Opens the streams again from their tokens. They contain everything committed before now. */
  reopen(): void;
  /** Ends the pause of refused subscriptions, for instance after a sign-in. */
  wake(): void;
}
