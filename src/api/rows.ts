import type { Flat, IncludedMetrics, MetricsIn } from "./metrics.ts";
import type { NamesIn, NestedIn, OrderedBy, RelationName } from "./include_text.ts";

/** The names of the fields of a resource's rows. */
export type FieldOf<R extends ApiResource> = keyof R["row"] & string;

/** An item of `select`: a field, or a path to a value in the documents of a field. */
export type PathOf<R extends ApiResource> = FieldOf<R> | `${FieldOf<R>}.${string}`;

/** An item of `include`, which loads related rows: `author`, `author.books`, `tags(limit:5)`. */
export type IncludeOf<R extends ApiResource> =
  | RelationOf<R>
  | `${RelationOf<R>}${"." | "(" | " "}${string}`
  | ` ${string}`;

/** @internal The fields of a literal list of sort keys. A live list adds each field to `select`. */
export type FieldsOfOrder<Order extends ArrayLike<unknown>> = OrderedBy<
  number extends Order["length"] ? never : Order[number]
>;

/** A row of a resource with only these fields, and with these related rows. */
export type RowOf<R extends ApiResource, Fields, Included extends PropertyKey> = [Included] extends
  [never] ? SelectedRow<ReadRow<R, Fields>, Fields>
  : Flat<
    & SelectedRow<ReadRow<R, Fields>, Fields>
    & IncludedRows<R, Included>
    & IncludedAggregates<R, Included>
  >;

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

/** @internal A row. A field in `onSelect` is present only if `select` names it. */
type ReadRow<R extends ApiResource, Fields> = R extends { readonly onSelect: infer Name }
  ? [keyof R["row"]] extends [Fields] ? R["row"]
  : Omit<R["row"], Name & string> & Required<Pick<R["row"], Name & Fields & keyof R["row"]>>
  : R["row"];

/** @internal A row with only these fields. */
export type SelectedRow<Row, Fields> = [keyof Row] extends [Fields] ? Row
  : string extends keyof Row ? Row
  : {
    [Name in keyof Row as Extract<Name, FirstName<Fields>>]: Name extends Fields ? Row[Name]
      : PartOf<Row[Name]> | null;
  };

type FirstName<Field> = Field extends `${infer Name}.${string}` ? Name | Field : Field;

type PartOf<Value> = unknown extends Value ? unknown
  : Value extends object ? { [Name in keyof Value]?: PartOf<Value[Name]> }
  : Value;

/** @internal The members of a row that these items of `include` add. */
type IncludedRows<R extends ApiResource, Item> = {
  [Name in RelationName<ItemsOf<Item>> & RelationOf<R>]: RelatedRows<
    R["relations"][Name],
    RelatedRow<TargetOf<R, Name>, ItemsOf<Item, Name>>
  >;
};

/** The items of `include` that load rows of the relation `Name`. Default: of any relation. */
type ItemsOf<Item, Name = unknown> = Item extends unknown
  ? [MetricsIn<Item>, RelationName<Item>] extends [never, Name] ? Item : never
  : never;

type RelatedRows<Value, Row> = unknown extends Value ? unknown
  : Value extends readonly unknown[] ? Row[]
  : Value extends null ? null
  : Row;

type RelatedRow<R extends ApiResource, Item> = RowOf<
  R,
  [NamesIn<Item, "select">] extends [never] ? FieldOf<R>
    : '"' extends NamesIn<Item, "select"> ? FieldOf<R>
    : NamesIn<Item, "select">,
  NestedIn<Item> & string
>;

/** @internal The resource of a related row. Without `targets`, only the row's fields are known. */
export type TargetOf<R extends ApiResource, Name> = R extends
  { readonly targets: { readonly [Each in Name & string]: infer Target extends ApiResource } }
  ? Target
  : UntypedTarget<R["relations"][Name & keyof R["relations"]]>;

/** @internal The resource of a related row, of which only the row is known. */
export interface UntypedTarget<Value> extends ApiResource {
  readonly row: Value extends readonly (infer Row)[] ? Row & object
    : unknown extends Value ? Record<string, unknown>
    : NonNullable<Value>;
  readonly relations: Record<string, unknown>;
}

/** @internal The member `_aggregates` of a row: the metrics that items of `include` request. */
type IncludedAggregates<R extends ApiResource, Included> = [MetricsIn<Included>] extends [never]
  ? unknown
  : {
    _aggregates: {
      [Item in Included as [MetricsIn<Item>] extends [never] ? never : RelationName<Item> & string]:
        IncludedMetrics<TargetOf<R, RelationName<Item>>["row"], MetricsIn<Item>>;
    };
  };

/** The types of one resource in an `Api`. The command `resource-api types` writes these types. */
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
  /** The resources of the related rows, by relation. If absent, only the rows' types are known. */
  readonly targets?: object;
  /** The fields that rows contain only if `select` names them. */
  readonly onSelect?: string;
  /** The fields that `sum` and `avg` accept. Default: all fields. */
  readonly numeric?: string;
  /** True if the rows of the resource have ETags. */
  readonly etag: boolean;
  /** The inputs and outputs of the resource's procedures, by the names of the procedures. */
  readonly procedures: object;
  /** The {@link ApiOperation}s that the resource has. Default: all of them. */
  readonly operations?: ApiOperation;
}

/** The operations without a body type in an `Api`: only the member `operations` lists them. */
export type ApiOperation =
  | ("delete" | "restore" | "batch" | "aggregate" | "search" | "subscribe")
  | ("export" | "import" | "history");

/** @internal An operation that a resource can lack. Its client then lacks the methods, too. */
export type AnyOperation = ApiOperation | "create" | "update";

/** @internal `true` if the service offers an operation. */
export type Has<R extends ApiResource, Operation extends AnyOperation> = Operation extends
  "create" | "update" ? [R[Operation]] extends [never] ? false : true
  : R extends { readonly operations: infer Named } ? [Operation] extends [Named] ? true : false
  : true;
