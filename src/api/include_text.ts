import type { IsHidden, Parts, Trim, Unquoted } from "./filter_text.ts";

/** @internal The parts of a string between separators, except separators in parentheses. */
type TopLevel<Text, Separator extends string, Head extends string = "", Done = never> = Text extends
  `${infer Part}${Separator}${infer Rest}`
  ? IsBalanced<`${Head}${Part}`> extends true
    ? TopLevel<Rest, Separator, "", Done | `${Head}${Part}`>
  : TopLevel<Rest, Separator, `${Head}${Part}${Separator}`, Done>
  : Done | `${Head}${Text & string}`;

type IsBalanced<Text> = Text extends `${infer Head})${infer Rest}`
  ? Head extends `${infer Start}(${infer Inner}` ? IsBalanced<`${Start}${Inner}${Rest}`> : true
  : Text extends `${string}(${string}` ? false
  : true;

/** @internal The name of the relation that an item of `include` loads. */
export type RelationName<Item> = Item extends `${infer Name}(${string}` ? RelationName<Name>
  : Item extends `${infer Name}.${string}` ? RelationName<Name>
  : Trim<Item>;

/** @internal The options in the parentheses of an item of `include`, without spaces: `limit:5`. */
export type OptionsIn<Item> = Trim<Item> extends `${infer Path}(${infer Options})`
  ? Path extends `${string}.${string}` ? never : Trimmed<Trim<TopLevel<Unquoted<Options>, ";">>>
  : never;

type Trimmed<Option> = Option extends `${infer Name}:${infer Value}`
  ? Trim<Name> extends infer Known extends OptionName ? `${Known}:${Trim<Value> & string}` : Option
  : Option;

/** @internal The names of the options of an item of `include`. */
export type OptionName =
  | ("select" | "filter" | "limit" | "orderBy" | "include")
  | ("count" | "sum" | "avg" | "min" | "max");

/** @internal The value of an option in an item of `include`. */
export type OptionIn<Item, Name extends OptionName> = OptionsIn<Item> extends infer Option
  ? Option extends `${Name}:${infer Value}` ? Value : never
  : never;

/** @internal The items of `include` that an item contains: `b` in `a.b` and in `a(include:b)`. */
export type NestedIn<Item> = Item extends `${infer Path}(${string}`
  ? Path extends `${infer Name}.${string}` ? Item extends `${Name}.${infer Rest}` ? Rest : never
  : Trim<TopLevel<OptionIn<Item, "include">, ",">>
  : Item extends `${string}.${infer Rest}` ? string extends Rest ? never : Rest
  : never;

/** @internal The names in the value of an option, such as `select:a,b`. */
export type NamesIn<Item, Name extends OptionName> = Trim<Parts<OptionIn<Item, Name>, ",">>;

/** @internal The fields in the option `orderBy` of an item of `include`. */
export type OrderedIn<Item> = OrderedBy<NamesIn<Item, "orderBy">>;

/** @internal The field of a sort key. */
export type OrderedBy<Key> = Key extends `-${infer Name}` | `${infer Name}:${string}` ? Name : Key;

/** @internal The parts of the option `filter`, which can contain semicolons. */
export type FilterIn<Item> = OptionsIn<Item> extends infer Option
  ? Option extends `filter:${infer Filter}` ? Filter
  : Option extends `${OptionName}:${string}` ? never
  : Option
  : never;

/** @internal Error messages about unknown, repeated or wrong options of an item of `include`. */
export type OptionFault<Item, Options = OptionsIn<Item>> =
  | (Trim<Item> extends `${string}(${infer All})` ? Repeated<`;${OwnOptions<All>}`> : never)
  | WrongValue<OptionIn<Item, "limit">, `${bigint}`, "limit must be a number, not">
  | WrongValue<OptionIn<Item, "count">, "true", "count must be true, not">
  | (Extract<Options, `filter:${string}`> extends never
    ? WrongValue<Options, `${OptionName}:${string}`, "There is no option">
    : never);

/** Options without the contents of parentheses and without spaces. */
type OwnOptions<Text> = Text extends `${infer Head}(${infer Rest}`
  ? OwnOptions<`${Head}${Rest extends `${string})${infer After}` ? After : ""}`>
  : Text extends `${infer Head}${" "}${infer Rest}` ? OwnOptions<`${Head}${Rest}`>
  : Text & string;

type Repeated<Text, Name extends OptionName = OptionName> = Name extends unknown
  ? Text extends `${string};${Name}:${string};${Name}:${string}` ? `${Name} occurs twice` : never
  : never;

type WrongValue<Value, Right, Message extends string> = Value extends Right ? never
  : IsHidden<Value> extends true ? never
  : `${Message} ${Value & string}`;
