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
  [never] ? Selected<R["row"], Fields>
  : Shown<Selected<R["row"], Fields> & Related<R, Included>>;

/** A row with its tag. */
export interface Tagged<Row> {
  readonly value: Row;
  /** For `ifMatch` and `ifNoneMatch`; null where the resource has no tags. */
  readonly etag: string | null;
}

/** A page of a list. */
export interface Page<Row> {
  readonly items: Row[];
  /** For the `cursor` of the next page; null on the last one. */
  readonly nextCursor: string | null;
  readonly hasMore: boolean;
  /** Present where it was requested. */
  readonly totalCount?: number;
  /** Present where `totalCount` is an estimate. */
  readonly totalCountEstimated?: true;
}

type RelationOf<R extends ApiResource> = keyof R["relations"] & string;

type Selected<Row, Fields> = [keyof Row] extends [Fields] ? Row : Pick<Row, Fields & keyof Row>;

/** One object type in the place of an intersection, as an editor shows it. */
type Shown<Row> = { [Name in keyof Row]: Row[Name] };

type Related<R extends ApiResource, Included extends PropertyKey> = {
  [Item in Included as RelationName<Item> & PropertyKey]: RelatedRow<
    R["relations"][RelationName<Item> & keyof R["relations"]],
    Item
  >;
};

type RelationName<Item> = Item extends `${infer Name}(${string}` ? FirstName<Name>
  : FirstName<Item>;

type FirstName<Path> = Path extends `${infer Name}.${string}` ? Name : Path;

/** Options may select fewer fields; relations of related rows are not known here. */
type RelatedRow<Value, Item> = Item extends `${string}(${string}` ? PartOf<Value>
  : Item extends `${string}.${string}` ? WithMore<Value>
  : Value;

type PartOf<Value> = Value extends readonly (infer Row)[] ? (Partial<Row> & More)[]
  : Value extends null ? null
  : Partial<Value> & More;

type WithMore<Value> = Value extends readonly (infer Row)[] ? (Row & More)[]
  : Value extends null ? null
  : Value & More;

interface More {
  readonly [name: string]: unknown;
}
