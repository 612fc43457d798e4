/** The types of one resource in an `Api`. `resource-api types` writes them for each resource. */
export interface ApiResource {
  /** The path of the resource, such as `/api/posts`. */
  readonly path: string;
  /** The value of the key, or a tuple with the values of a composite key. */
  readonly key: unknown;
  /** A row, as responses contain it. */
  readonly row: object;
  /** The body that creates a row, or `never` if rows cannot be created. */
  readonly create: unknown;
  /** The body that changes a row, or `never` if rows cannot be changed. */
  readonly update: unknown;
  /** The related rows that `include` loads, by the names of the relations. */
  readonly relations: object;
  /** True if the rows of the resource have ETags. */
  readonly etag: boolean;
  /** The inputs and outputs of the resource's procedures, by the names of the procedures. */
  readonly procedures: object;
  /** The available operations that no body type shows, such as `delete`. Default: all of these. */
  readonly operations?: ApiOperation;
}

/** An operation whose availability the types of bodies do not show. */
export type ApiOperation = "delete" | "restore" | "batch" | "aggregate" | "search" | "subscribe";

/** @internal `true` if a resource has an operation, or `false` if its `Api` excludes it. */
export type Has<R extends ApiResource, Operation extends ApiOperation> = R extends
  { readonly operations: infer Named } ? [Operation] extends [Named] ? true : false : true;
