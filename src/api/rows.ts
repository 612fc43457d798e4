import type { IncludedMetrics, MetricsIn } from "./metrics.ts";

/** The names of the fields of a resource's rows. */
export type FieldOf<R extends ApiResource> = keyof R["row"] & string;

/** An item of `select`: a field, or a path to a value in the documents of a field. */
export type PathOf<R extends ApiResource> = FieldOf<R> | `${FieldOf<R>}.${string}`;

/** An item of `include`, which loads related rows: `author`, `author.books`, `tags(limit:5)`. */
export type IncludeOf<R extends ApiResource> =
  | RelationOf<R>
  | `${RelationOf<R>}.${string}`
  | `${RelationOf<R>}(${string}`;

/** A row of a resource with only these fields, and with these related rows. */
export type RowOf<R extends ApiResource, Fields, Included extends PropertyKey> = [Included] extends
  [never] ? SelectedRow<R["row"], Fields>
  :
    & SelectedRow<R["row"], Fields>
    & IncludedRows<R, Included>
    & IncludedAggregates<R, Included> extends infer Row
  // With a mapped type, editors show one object type instead of an intersection.
    ? { [Name in keyof Row]: Row[Name] }
  : never;

/** A row with its ETag. */
export interface Tagged<Row> {
  /** The row. */
  readonly value: Row;
  /** The ETag for `ifMatch` and `ifNoneMatch`, or null if the resource has no ETags. */
  readonly etag: string | null;
}

/** A page of a list. */
export interface Page<Row> {
  /** The rows, in the requested order. */
  readonly items: Row[];
  /** The `cursor` of the next page, or null on the last page. */
  readonly nextCursor: string | null;
  /** True if there is a next page. */
  readonly hasMore: boolean;
  /** The number of all rows that match the filter. Present if requested. */
  readonly totalCount?: number;
  /** True if `totalCount` is an estimate. */
  readonly totalCountEstimated?: true;
}

/** The names of the relations of a resource. */
export type RelationOf<R extends ApiResource> = keyof R["relations"] & string;

/** @internal A row with only these fields. */
export type SelectedRow<Row, Fields> = [keyof Row] extends [Fields] ? Row
  : {
    [Name in keyof Row as Extract<Name, FirstName<Fields>>]: Name extends Fields ? Row[Name]
      : PartOf<Row[Name]> | null;
  };

type FirstName<Field> = Field extends `${infer Name}.${string}` ? Name | Field : Field;

/** A document of which only some values are selected. */
type PartOf<Value> = unknown extends Value ? unknown
  : Value extends object ? { [Name in keyof Value]?: PartOf<Value[Name]> }
  : Value;

/** @internal The members of a row that these items of `include` add. */
type IncludedRows<R extends ApiResource, Included extends PropertyKey> = {
  [
    Item in Included as [MetricsIn<Item>] extends [never] ? RelationName<Item> & PropertyKey : never
  ]: IncludedRow<
    R["relations"][RelationName<Item> & keyof R["relations"]],
    Item
  >;
};

/** @internal The member `_aggregates` of a row: the metrics that items of `include` request. */
type IncludedAggregates<R extends ApiResource, Included extends PropertyKey> =
  [MetricsIn<Included>] extends [never] ? unknown : {
    _aggregates: {
      [
        Item in Included as [MetricsIn<Item>] extends [never] ? never
          : RelationName<Item> & PropertyKey
      ]: R["relations"][RelationName<Item> & keyof R["relations"]] extends readonly (infer Row)[]
        ? IncludedMetrics<Row, MetricsIn<Item>>
        : never;
    };
  };

/** @internal The name of the relation that an item of `include` loads. */
type RelationName<Item> = Item extends `${infer Name}(${string}` ? RelationName<Name>
  : Item extends `${infer Name}.${string}` ? Name
  : Item;

/** @internal The value of a relation that `include` loads: a row, a list of rows, or null. */
type IncludedRow<Value, Item> = Value extends readonly (infer Row)[] ? IncludedFields<Row, Item>[]
  : Value extends null ? null
  : IncludedFields<Value, Item>;

/** @internal A related row. Options in `include` can omit fields of the row or add more rows. */
type IncludedFields<Row, Item> = Item extends `${string}(${string}` ? Partial<Row> & FurtherFields
  : Item extends `${string}.${string}` ? Row & FurtherFields
  : Row;

/** @internal The members of unknown types that a related row can have, e.g. its related rows. */
interface FurtherFields {
  /** A member of unknown type. Check its value before you use it. */
  readonly [name: string]: unknown;
}

/** The types of one resource in an `Api`. The command `resource-api types` writes them. */
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
  /** The {@link ApiOperation}s that the resource has. Default: all of them. */
  readonly operations?: ApiOperation;
}

/** The operations for which an `Api` has no body types, so that `operations` must list them. */
export type ApiOperation = "delete" | "restore" | "batch" | "aggregate" | "search" | "subscribe";

/** @internal `true` if a resource has an operation; `false` if `operations` omits it. */
export type Has<R extends ApiResource, Operation extends ApiOperation> = R extends
  { readonly operations: infer Named } ? [Operation] extends [Named] ? true : false : true;
