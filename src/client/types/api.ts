/**
 * What an `Api` says of one resource: the interface that `resource-api types` writes has a member of
 * this form for each.
 */
export interface ApiResource {
  readonly path: string;
  /** The value of the key, or a tuple of the values of a composite one. */
  readonly key: unknown;
  readonly row: object;
  /** The body that creates a row; never where none is created. */
  readonly create: unknown;
  /** The body that changes a row; never where none is changed. */
  readonly update: unknown;
  /** What `include` loads, by the names of the relations. */
  readonly relations: object;
  readonly etag: boolean;
  readonly procedures: object;
}
