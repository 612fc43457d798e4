/** @internal The parts of a string between separators. */
export type Parts<Text, Separator extends string, Done = never> = Text extends
  `${infer Part}${Separator}${infer Rest}` ? Parts<Rest, Separator, Done | Part> : Done | Text;

/** @internal A string without white space at its ends. */
export type Trim<Text> = Text extends `${Space}${infer Rest}` | `${infer Rest}${Space}` ? Trim<Rest>
  : Text;

type Space = " " | "\n" | "\t" | "\r";

/** @internal True if a word is no literal, or is a quoted string that {@link Unquoted} hides. */
export type IsHidden<Word> = Word extends `${string}"${string}` ? true
  : Record<never, never> extends Record<Word & string, 1> ? true
  : false;

/**
 * @internal A string in which quoted strings have no quotes. A quoted string with characters that
 * have a meaning outside of quotes becomes a quote, and so does a string that is hard to read.
 */
export type Unquoted<Text, Done extends string = ""> = Text extends `${string}\\${string}` ? '"'
  : Text extends `${infer Head}"${infer Rest}`
    ? Head extends `${string}'${string}` ? '"' : WithoutQuotes<Head, Rest, '"', Done>
  : Text extends `${infer Head}'${infer Rest}` ? WithoutQuotes<Head, Rest, "'", Done>
  : `${Done}${Text & string}`;

type WithoutQuotes<Head extends string, Text, Quote extends string, Done extends string> =
  Text extends `${infer Content}${Quote}${infer Rest}` ? Unquoted<
      Rest,
      `${Done}${Head}${Content extends `${string}${Special}${string}` ? '"' : Content}`
    >
    : '"';

type Special =
  | (Space | ";" | "," | "(" | ")" | "[" | "]" | "=" | "!" | "<" | ">" | "&" | "|" | "." | ":")
  | ("'" | '"');

/** @internal The comparisons of a filter, and the parts of its lists of values. */
export type Comparisons<Text> = Trim<
  Parts<Parts<Parts<Groups<Unquoted<Text>>, " and ">, " or ">, "&&" | "||">
>;
type Groups<Text> = Parts<Parts<Parts<Parts<Text, ";">, ",">, "(">, ")">;

/** @internal The field that a comparison compares, or `never` if the compiler cannot read it. */
export type FieldCompared<Text> = Text extends `${string}${"=" | "<" | ">"}${string}`
  ? LastWord<Trim<FieldIn<FieldIn<FieldIn<Text, "=">, "<">, ">">>>
  : never;

type FieldIn<Text, Operator extends string> = Text extends `${infer Field}${Operator}${string}`
  ? Without<Without<Field, "%">, "!">
  : Text;
type Without<Text, End extends string> = Text extends `${infer Rest}${End}` ? Rest : Text;
type LastWord<Text> = Text extends `${string}${Space}${infer Rest}` ? LastWord<Rest> : Text;

/** @internal The single word after `==` or `!=`, or `never` if there is no word. */
export type WordCompared<Text> = Text extends `${string}${"==" | "!="}${infer Value}`
  ? Exclude<Trim<Value>, "" | "null" | `${string}${Space | "["}${string}`>
  : never;
