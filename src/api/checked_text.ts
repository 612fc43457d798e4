import type { HasHandle } from "./handle.ts";
import type { AnyOperation, ApiResource, Has, RelationOf, TargetOf } from "./rows.ts";
import type { Comparisons, FieldCompared, IsHidden, WordCompared } from "./filter_text.ts";
import type {
  FilterIn,
  NamesIn,
  NestedIn,
  OptionFault,
  OrderedIn,
  RelationName,
} from "./include_text.ts";

/** A filter: a string in the filter language, or the result of `rsql`. */
export type FilterInput = string | { readonly filter: string; toString(): string };

/**
 * The type of a filter: `Text`, or an error message if `Text` compares an unknown field or compares
 * an enum field with an unknown value. A string that the compiler cannot parse is accepted.
 */
export type FilterOf<R extends ApiResource, Text> = Text extends string
  ? string extends Text ? FilterInput
  : Checked<R, FilterFault<R, Text>, Text | Exclude<FilterInput, string>>
  : FilterInput;

/** The type of items of `include`: the items, or error messages for items with unknown names. */
export type IncludeItemOf<R extends ApiResource, Item> = Checked<
  R,
  IncludeFault<R, Item>,
  Item,
  Item extends unknown ? [IncludeFault<R, Item>] extends [never] ? Item : never : never
>;

/** A resource's client with `Operation`, or an error message if the service lacks the operation. */
export type Offers<R extends ApiResource, Operation extends AnyOperation> =
  & HasHandle<R>
  & Checked<R, Has<R, Operation> extends true ? never : `There is no ${Operation}`, unknown>;

/** @internal `Value`, or the error message `Fault`. If `R` is generic, all values are accepted. */
type Checked<R, Fault, Value, Others = never> = [
  [R] extends [never] ? true : [Fault] extends [never] ? true : never,
] extends [never] ? NoInfer<Fault | Others>
  : Value;

/** @internal Error messages of a filter. In `some(...)`, names can be fields of related rows. */
type FilterFault<R extends ApiResource, Text> = ComparisonFault<
  Text extends `${string}.${"some" | "none" | "every"}(${string}` ? RelatedTo<R> : R,
  Comparisons<Text>
>;

/** A resource, and the resources to which a path of at most three relations leads. */
type RelatedTo<R extends ApiResource, Depth extends unknown[] = []> =
  | R
  | (Depth["length"] extends 3 ? never
    : R extends unknown
      ? RelatedTo<{ [Name in RelationOf<R>]: TargetOf<R, Name> }[RelationOf<R>], [...Depth, 1]>
    : never);

type ComparisonFault<R extends ApiResource, Text> = Text extends unknown
  ? NameFault<R, FieldCompared<Text>, WordCompared<Text>>
  : never;

/** An error message if no field is called `Name`, or if the field's enum lacks `Value`. */
type NameFault<R extends ApiResource, Name, Value = never> = Name extends string
  ? true extends IsHidden<Name> | (Name extends "" ? true : never) ? never
  : [ValueAt<R, Name>] extends [never] ? `There is no field ${Name}`
  : ValueFault<Exclude<ValueAt<R, Name>, null | undefined>, Value>
  : never;

type ValueFault<Enum, Value> = Value extends Enum ? never
  : [Enum] extends [never] ? never
  : [Enum] extends [string]
    ? true extends IsHidden<Value> | (string extends Enum ? true : never) ? never
    : `There is no value ${Value & string}`
  : never;

/** The type of the field to which a path leads, or `never` if there is no such field. */
type ValueAt<R extends ApiResource, Path extends string> = R extends unknown
  ? Path extends keyof R["row"] ? R["row"][Path] | undefined
  : Path extends `${infer Name}.${infer Rest}`
    ? Name extends RelationOf<R> ? ValueAt<TargetOf<R, Name>, Rest>
    : Name extends keyof R["row"] ? unknown
    : never
  : never
  : never;

/** @internal The error messages for an item of `include`, or `never`. */
type IncludeFault<R extends ApiResource, Item> = Item extends unknown ? string extends Item ? never
  : RelationName<Item> extends infer Name extends string ? IsHidden<Name> extends true ? never
    : Name extends RelationOf<R> ? OptionsFault<TargetOf<R, Name>, Item>
    : `There is no relation ${Name}`
  : never
  : never;

type OptionsFault<R extends ApiResource, Item> =
  | OptionFault<Item>
  | NameFault<R, NamesIn<Item, "select" | "sum" | "avg" | "min" | "max">>
  | NameFault<R, OrderedIn<Item>>
  | FilterFault<R, FilterIn<Item>>
  | IncludeFault<R, NestedIn<Item>>;
