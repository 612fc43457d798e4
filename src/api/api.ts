/**
 * What an `Api` says of one resource: the interface that `resource-api types` writes has a member of
 * this form for each.
 */
export interface ApiResource {
  /** `/api/posts`. */
  readonly path: string;
  /** The value of the key, or a tuple of the values of a composite one. */
  readonly key: unknown;
  /** A row, as answers hold it. */
  readonly row: object;
  /** The body that creates a row; never where none is created. */
  readonly create: unknown;
  /** The body that changes a row; never where none is changed. */
  readonly update: unknown;
  /** What `include` loads, by the names of the relations. */
  readonly relations: object;
  /** True if its rows have tags. */
  readonly etag: boolean;
  /** The input and output of its procedures, by their names. */
  readonly procedures: object;
  /** Which further operations it has; all of them where it does not say. */
  readonly operations?: ApiOperation;
}

/** An operation of a resource that its bodies do not show. */
export type ApiOperation = "delete" | "restore" | "batch" | "aggregate" | "search" | "subscribe";

/** True if a resource has an operation: `true`, or `false` where it says that it has not. */
export type Has<R extends ApiResource, Operation extends ApiOperation> = R extends
  { readonly operations: infer Named } ? [Operation] extends [Named] ? true : false : true;
