import type { ApiResource } from "./api.ts";

/** The names of the fields of a resource's rows. */
export type FieldOf<R extends ApiResource> = keyof R["row"] & string;

/** What `include` loads beside the rows of a resource: `author`, `author.books`, `tags(limit:5)`. */
export type IncludeOf<R extends ApiResource> =
  | RelationOf<R>
  | `${RelationOf<R>}.${string}`
  | `${RelationOf<R>}(${string}`;

/** The rows of a resource with these fields alone, and with these related rows beside them. */
export type RowOf<R extends ApiResource, Fields, Included extends PropertyKey> = [Included] extends
  [never] ? SelectedRow<R["row"], Fields>
  : SelectedRow<R["row"], Fields> & IncludedRows<R, Included> extends infer Row
  // One object in the place of an intersection, as an editor shows it.
    ? { [Name in keyof Row]: Row[Name] }
  : never;

/** A row with its tag. */
export interface Tagged<Row> {
  /** The row. */
  readonly value: Row;
  /** For `ifMatch` and `ifNoneMatch`; null if the resource has no tags. */
  readonly etag: string | null;
}

/** A page of a list. */
export interface Page<Row> {
  /** The rows, in the order that was requested. */
  readonly items: Row[];
  /** For the `cursor` of the next page; null on the last one. */
  readonly nextCursor: string | null;
  /** True if there is a next page. */
  readonly hasMore: boolean;
  /** Present where it was requested. */
  readonly totalCount?: number;
  /** Present where `totalCount` is an estimate. */
  readonly totalCountEstimated?: true;
}

/** The names of the relations of a resource. */
export type RelationOf<R extends ApiResource> = keyof R["relations"] & string;

/** A row with these fields alone. */
export type SelectedRow<Row, Fields> = [keyof Row] extends [Fields] ? Row
  : { [Name in keyof Row as Extract<Name, Fields>]: Row[Name] };

/** The related rows that these items of `include` load. */
export type IncludedRows<R extends ApiResource, Included extends PropertyKey> = {
  [Item in Included as RelationName<Item> & PropertyKey]: IncludedRow<
    R["relations"][RelationName<Item> & keyof R["relations"]],
    Item
  >;
};

/** The name of the relation that an item of `include` loads. */
export type RelationName<Item> = Item extends `${infer Name}(${string}` ? RelationName<Name>
  : Item extends `${infer Name}.${string}` ? Name
  : Item;

/** What an item of `include` loads of a relation: a row, a list of them, or null. */
export type IncludedRow<Value, Item> = Value extends readonly (infer Row)[]
  ? IncludedFields<Row, Item>[]
  : Value extends null ? null
  : IncludedFields<Value, Item>;

/** A related row. Options may select fewer fields of it, and load its own related rows. */
export type IncludedFields<Row, Item> = Item extends `${string}(${string}`
  ? Partial<Row> & FurtherFields
  : Item extends `${string}.${string}` ? Row & FurtherFields
  : Row;

/** What else a row may have: the related rows of related rows have no types here. */
export interface FurtherFields {
  /** To be checked before it is used. */
  readonly [name: string]: unknown;
}
