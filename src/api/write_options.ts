import type { ApiResource } from "./rows.ts";
import type { RequestOptions } from "./read_options.ts";

/** The options of every write. */
export interface WriteRequestOptions extends RequestOptions {
  /** The idempotency key of the request. Repeated requests with this key are executed only once. */
  readonly idempotencyKey?: string | undefined;
}

/** The options of a write of one row. */
export interface RowWriteOptions extends WriteRequestOptions {
  /** An id of this write, chosen by the client. The write's events in live lists contain it. */
  readonly optimisticId?: string | undefined;
}

/** The options of a write that can depend on the row's ETag. */
export interface ConditionalOptions<R extends ApiResource> extends RowWriteOptions {
  /** The ETag that the client has read. If the row has changed since, throws a ConflictError. */
  readonly ifMatch?: TagOf<R> | null | undefined;
}

/** The option of a write that creates a row, or changes the row with an equal unique key. */
export interface UniqueKeyOption<R extends ApiResource> {
  /**
   * The field, or the fields, of the unique key that identifies a row, for example `"email"`. The
   * condition of a partial unique index follows in parentheses: `"email(deletedAt==null)"`.
   */
  readonly on?:
    | (keyof R["row"] & string)
    | readonly (keyof R["row"] & string)[]
    | `${string}(${string})`
    | undefined;
}

/** The type of `ifMatch`: a string, or `never` if the resource has no ETags. */
export type TagOf<R extends ApiResource> = R["etag"] extends false ? never : string;

/** The options of an update. */
export interface UpdateOptionsOf<R extends ApiResource> extends ConditionalOptions<R> {
  /** The row on which the patch is based. `onConflict` receives it. */
  readonly base?: Partial<R["row"]> | null | undefined;
  /**
   * Called if the row has changed. Merges the patch with the current row, and returns the patch to
   * send next, or null to throw a ConflictError. Called at most five times.
   */
  readonly onConflict?:
    | ((conflict: Conflict<R>) => R["update"] | null | Promise<R["update"] | null>)
    | undefined;
}

/** A patch that the service rejected because the row has changed. */
export interface Conflict<R extends ApiResource> {
  /** The row on which the patch is based, or null if the caller has not passed `base`. */
  readonly base: Partial<R["row"]> | null;
  /** The rejected patch. */
  readonly mine: R["update"];
  /** The current row. */
  readonly theirs: R["row"];
}

/** The options of an import. */
export interface ImportOptionsOf extends RequestOptions {
  /** True to change the row if its key already exists. */
  readonly upsert?: boolean | undefined;
  /** The number of rows in one request. Default: 100, or the service's limit if that is lower. */
  readonly size?: number | undefined;
  /** Called after each request with the number of rows written so far. */
  readonly onProgress?: ((count: number) => void) | undefined;
  /** The idempotency key of the import. A repeated import with this key writes no row twice. */
  readonly idempotencyKey?: string | undefined;
}

/**
 * The body that replaces a row: the body that creates a row, without the fields that no update may
 * change. The body can change relations like an update. `Relations` are the names of the relations,
 * or `never` if any string can be one.
 */
export type ReplaceBody<
  R extends ApiResource,
  Relations = string extends keyof R["relations"] ? never : keyof R["relations"] & string,
> = [R["create"]] extends [never] ? R["update"] & Partial<R["row"]>
  :
    & Pick<R["create"], Exclude<keyof R["create"] & keyof R["update"], Relations>>
    & Partial<Omit<R["create"], Relations & string>>
    & Pick<R["update"], keyof R["update"] & Relations>;

/** An item of a batch, which can contain its own `optimisticId`. */
export type BatchItem<Body> = Body & { readonly _optimisticId?: string };

/** An item of a batch that changes rows, which can contain its own `ifMatch`. */
export type ConditionalItem<Body> = BatchItem<Body> & { readonly _ifMatch?: string };
