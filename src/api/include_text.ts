import type { Parts, Trim, Unquoted } from "./filter_text.ts";

/** @internal The parts of a string that separators outside of parentheses divide. */
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

/** @internal The options in the parentheses of an item of `include`: `limit:5`. */
export type OptionsIn<Item> = Item extends `${infer Path}(${infer Options})`
  ? Path extends `${string}.${string}` ? never : Trim<TopLevel<Unquoted<Options>, ";">>
  : never;

/** @internal The value of an option in an item of `include`. */
export type OptionIn<Item, Name extends string> = OptionsIn<Item> extends infer Option
  ? Option extends `${infer Key}:${infer Value}` ? Trim<Key> extends Name ? Trim<Value> : never
  : never
  : never;

/** @internal The items of `include` that an item contains: `b` in `a.b` and in `a(include:b)`. */
export type NestedIn<Item> = Item extends `${infer Path}(${string}`
  ? Path extends `${infer Name}.${string}` ? Item extends `${Name}.${infer Rest}` ? Rest : never
  : Trim<TopLevel<OptionIn<Item, "include">, ",">>
  : Item extends `${string}.${infer Rest}` ? string extends Rest ? never : Rest
  : never;

/** @internal The names in the value of an option, such as `select:a,b`. */
export type NamesIn<Item, Name extends string> = Trim<Parts<OptionIn<Item, Name>, ",">>;

/** @internal The fields in the option `orderBy` of an item of `include`. */
export type OrderedIn<Item> = NamesIn<Item, "orderBy"> extends infer Key
  ? Key extends `-${infer Name}` | `${infer Name}:${string}` ? Name : Key
  : never;

/** @internal The option `filter`, split at semicolons. Only the first part has its name. */
export type FilterIn<Item> = OptionsIn<Item> extends infer Option
  ? Option extends `filter:${infer Filter}` ? Filter
  : Option extends `${string}:${string}` ? never
  : Option
  : never;
