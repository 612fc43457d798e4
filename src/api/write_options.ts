import type { ApiResource } from "./api.ts";
import type { RequestOptions } from "./read_options.ts";

/** The options of every write. */
export interface WriteRequestOptions extends RequestOptions {
  /** Names the request: sent again with the same key, it is carried out once. */
  readonly idempotencyKey?: string | undefined;
}

/** The options of a write of one row. */
export interface RowWriteOptions extends WriteRequestOptions {
  /** An own name of this write, which the events of live lists repeat. */
  readonly optimisticId?: string | undefined;
}

/** The options of a write that may depend on the tag of its row. */
export interface ConditionalOptions<R extends ApiResource> extends RowWriteOptions {
  /** The tag of the row as it was read: if it has changed since, the write is a ConflictError. */
  readonly ifMatch?: TagOf<R> | null | undefined;
}

/** The option of writes that change a row where it exists, and create it elsewhere. */
export interface UniqueKeyOption<R extends ApiResource> {
  /** The field, or the fields, of the unique key that rows are found by: `"email"`. */
  readonly on?: (keyof R["row"] & string) | readonly (keyof R["row"] & string)[] | undefined;
}

/** A tag of a resource. A service without tags ignores `ifMatch`, so that there is none then. */
export type TagOf<R extends ApiResource> = R["etag"] extends false ? never : string;

/** The options of an update. */
export interface UpdateOptionsOf<R extends ApiResource> extends ConditionalOptions<R> {
  /** The row that the patch was made for, for `onConflict`. */
  readonly base?: Partial<R["row"]> | null | undefined;
  /**
   * Merges a patch with the row as it is now, and gives the patch that is sent next; null gives up,
   * and the update is a ConflictError. It is called at most five times.
   */
  readonly onConflict?:
    | ((conflict: Conflict<R>) => R["update"] | null | Promise<R["update"] | null>)
    | undefined;
}

/** A patch that was refused because its row has changed. */
export interface Conflict<R extends ApiResource> {
  /** The row that the patch was made for; null if it is not known. */
  readonly base: Partial<R["row"]> | null;
  /** The patch. */
  readonly mine: R["update"];
  /** The row as it is now. */
  readonly theirs: R["row"];
}

/** The options of an import. */
export interface ImportOptionsOf extends RequestOptions {
  /** Also changes rows that exist, by their keys. */
  readonly upsert?: boolean | undefined;
  /** How many rows are sent at once; 100 unless set, and fewer where the service takes fewer. */
  readonly size?: number | undefined;
  /** Called after each part with the number of rows that are written. */
  readonly onProgress?: ((count: number) => void) | undefined;
  /** Repeats an import that has failed: the rows that are written already are not written again. */
  readonly idempotencyKey?: string | undefined;
}

/**
 * The body that replaces a row: what creates one, without what no update may change. Of relations it
 * may ask what an update may; `Relations` are their names, and none where they may be any string.
 */
export type ReplaceBody<
  R extends ApiResource,
  Relations = string extends keyof R["relations"] ? never : keyof R["relations"] & string,
> = [R["create"]] extends [never] ? R["update"] & Partial<R["row"]>
  :
    & Pick<R["create"], Exclude<keyof R["create"] & keyof R["update"], Relations>>
    & Partial<Omit<R["create"], Relations & string>>
    & Pick<R["update"], keyof R["update"] & Relations>;

/** An item of a batch, which may carry its own `optimisticId`. */
export type BatchItem<Body> = Body & {
  readonly _optimisticId?: string;
};

/** An item of a batch that changes rows, which may carry its own `ifMatch`. */
export type ConditionalItem<Body> = BatchItem<Body> & {
  readonly _ifMatch?: string;
};
