import type { ProblemBody } from "../../protocol/problem_codes.ts";
import type { ServiceError } from "../request/service_error.ts";

/** The id of a row: its key value, or a list of the values of its key. */
export type LiveRowId = unknown;

/** A row of a live list. */
export type LiveRow = Readonly<Record<string, unknown>>;

/** The key and the field types of the rows: a part of the first message of a subscription. */
export interface RowDescription {
  /** The fields of the primary key, in the order of the key. */
  readonly primaryKey: readonly string[];
  /** The types of the readable fields. */
  readonly types: FieldTypes;
  /** The values of fields that a new row's body omits: a constant default, or else NULL. */
  readonly defaults?: LiveRow | undefined;
  /** The parsed filter of the list, for tests in the client. Absent without a filter. */
  readonly filter?: unknown;
}

/** The type of each readable field. */
export type FieldTypes = Readonly<Record<string, FieldType>>;

/**
 * The type of a field. For a list column, the type of its elements; for a Postgres enum, its labels
 * in order; `any` if the values are both numbers and strings.
 */
export type FieldType = string | readonly string[];

/** The rows of a live list as of one position in the change log. A page can send them as JSON. */
export interface LiveSeed extends RowDescription {
  /** The rows, in no particular order. */
  readonly items: readonly LiveRow[];
  /** The row ids, because rows do not contain their keys if `select` omits the key fields. */
  readonly ids: readonly LiveRowId[];
  /** The position in the change log at which the rows are current. */
  readonly token: string;
}

export type LiveMessage =
  | {
    readonly type: "opened";
    readonly description: RowDescription;
    /** The number of streams that the client has requested so far, including this one. */
    readonly asked: number;
  }
  | RowsEvent
  | AggregateEvent
  /** Confirms that the subscriber has all changes up to this position in the change log. */
  | TokenMessage
  | { readonly type: "status"; readonly status: LiveStatus; readonly error: ServiceError | null };

interface TokenMessage {
  readonly type: "token";
  readonly token: string;
}

export type RowsEvent =
  | {
    readonly type: "existing";
    readonly items: readonly LiveRow[];
    /** The row ids. Absent if the rows contain their complete keys. */
    readonly ids?: readonly LiveRowId[];
    /** The list's limit, which the service may have reduced. Absent for a list without a limit. */
    readonly limit?: number;
  }
  | { readonly type: "added" | "changed"; readonly id: LiveRowId; readonly item: LiveRow }
  | { readonly type: "removed"; readonly id: LiveRowId; readonly _optimisticId?: string }
  | { readonly type: "invalidate" };

export interface AggregateEvent {
  readonly type: "aggregate";
  readonly groups: readonly unknown[];
  readonly hasMore: boolean;
}

export type StreamEventData =
  | RowsEvent
  | AggregateEvent
  /** Precedes the events of the subscription `key`. The first message also describes the rows. */
  | (
    & { readonly type: "subscription"; readonly key: string }
    & (
      | RowDescription
      | { readonly types?: never }
    )
  )
  | RefusedSubscription
  /** The service sends the token as the `id` of an event without data. */
  | TokenMessage
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

export interface Subscriber {
  readonly path: string;
  /** The resume token: the subscriber has all changes up to it. Null before the first rows. */
  readonly set: { readonly token: string | null };
  receive(message: LiveMessage): void;
}

export interface LiveConnection {
  add(subscriber: Subscriber): () => void;
  /** Opens a new stream. With `isWaking`, refused lists retry, and pauses after failures end. */
  reopen(isWaking?: boolean): void;
}
