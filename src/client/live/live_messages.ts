import type { ProblemBody } from "../../protocol/problem_codes.ts";
import type { ServiceError } from "../request/service_error.ts";

/** The key of a row as events have it: a value, or a list of the values of a composite key. */
export type LiveRowId = unknown;

/** A row as a live list holds it. */
export type LiveRow = Readonly<Record<string, unknown>>;

/** How rows are identified and sorted: what a subscription says about itself when it opens. */
export interface RowDescription {
  /** The fields of the key, in its order. */
  readonly primaryKey: readonly string[];
  /** The types of the readable fields. */
  readonly types: FieldTypes;
}

/** Of each readable field. */
export type FieldTypes = Readonly<Record<string, FieldType>>;

/**
 * The kind of a field, of its elements if it has lists, `any` for numbers and strings, or the labels
 * of an enum of Postgres in their order.
 */
export type FieldType = string | readonly string[];

/** The rows of a live list at a position of the log, as JSON. */
export interface LiveSeed extends RowDescription {
  /** In no order. */
  readonly items: readonly LiveRow[];
  /** The ids of the rows, as `select` may have left them out. */
  readonly ids: readonly LiveRowId[];
  /** The position up to which they are. */
  readonly token: string;
}

/** What a live list or aggregate receives from its connection. */
export type LiveMessage =
  /** A stream has begun. */
  | (RowDescription & {
    readonly type: "opened";
    /**
     * True if it continues after the token that it was asked for with; else all rows come. Which of
     * them, the present token does not say: the stream before may have sent one since.
     */
    readonly isResumed: boolean;
    /** How many streams were asked for when this one was, itself included. */
    readonly asked: number;
  })
  | RowsEvent
  | AggregateEvent
  /** All changes up to a position of the log have been sent. */
  | { readonly type: "token"; readonly token: string }
  | { readonly type: "status"; readonly status: LiveStatus; readonly error: ServiceError | null };

/** The events of rows. */
export type RowsEvent =
  | {
    readonly type: "existing";
    readonly items: readonly LiveRow[];
    /** Where `select` has left out a part of the key. */
    readonly ids?: readonly LiveRowId[];
  }
  | { readonly type: "added" | "changed"; readonly id: LiveRowId; readonly item: LiveRow }
  | { readonly type: "removed"; readonly id: LiveRowId; readonly _optimisticId?: string }
  | { readonly type: "invalidate" };

/** The event of an aggregate: its result. */
export interface AggregateEvent {
  readonly type: "aggregate";
  readonly groups: readonly unknown[];
  readonly hasMore: boolean;
}

/** The data of the events of `POST /__service/live`. */
export type SetMessage =
  | RowsEvent
  | AggregateEvent
  /** What follows is of the subscription with this key, which the first such event describes. */
  | (Partial<RowDescription> & { readonly type: "subscription"; readonly key: string })
  | RefusedSubscription
  | { readonly type: "ended"; readonly key: string };

/** A subscription that is not opened, as its own request would have been refused. */
export interface RefusedSubscription {
  readonly type: "refused";
  readonly key: string;
  readonly status: number;
  readonly problem: ProblemBody;
  /** In seconds. */
  readonly retryAfter?: number;
}

/**
 * The state of a live list: `connecting` before its first rows, `live`, `stale` while its stream is
 * broken, `offline` without a network, `limited` where the service asks to wait, `needs-auth` until
 * there is another token, `closed` for good.
 */
export type LiveStatus =
  | "connecting"
  | "live"
  | "stale"
  | "offline"
  | "limited"
  | "needs-auth"
  | "closed";

/** What a connection is asked to follow. */
export interface Subscriber {
  /** The path of its `/subscribe` route, with its query. */
  readonly path: string;
  /** The position up to which it has everything; null for a beginning. Asked before each stream. */
  token(): string | null;
  receive(message: LiveMessage): void;
}

/** The connection that the live lists and aggregates of a client share. */
export interface LiveConnection {
  /** Adds a subscriber; returns what removes it. */
  add(subscriber: Subscriber): () => void;
  /** Opens the streams again, from where they are: what was committed before now is in them. */
  reopen(): void;
  /** Tries again at once, where it waits: after a sign-in, for instance. */
  wake(): void;
}
