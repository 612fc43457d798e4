/** @internal The parts of a string between separators. */
export type Parts<Text, Separator extends string, Done = never> = Text extends
  `${infer Part}${Separator}${infer Rest}` ? Parts<Rest, Separator, Done | Part> : Done | Text;

/** @internal A string without white space at its ends. */
export type Trim<Text> = Text extends `${Space}${infer Rest}` | `${infer Rest}${Space}` ? Trim<Rest>
  : Text;

type Space = " " | "\n" | "\t" | "\r";

/** @internal True if a word is unknown: no literal type, or with the `"` of {@link Unquoted}. */
export type IsHidden<Word> = Word extends `${string}"${string}` ? true
  : Record<never, never> extends Record<Word & string, 1> ? true
  : false;

/**
 * @internal A filter without the quotes of its quoted values. `"` replaces a quoted value with
 * special characters, and also the rest of a filter that is too difficult to parse here.
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

/** @internal The comparisons of a filter. A list of values becomes a comparison for each value. */
export type Comparisons<Text> = Trim<
  Parts<
    Parts<Parts<Groups<Listed<Listed<Unquoted<Text>, "=in=">, "=out=">>, " and ">, " or ">,
    "&&" | "||"
  >
>;

/** A filter whose lists of values after an operator are replaced by comparisons `field==value`. */
type Listed<Text, Operator extends string> = Text extends
  `${infer Head}${Operator}(${infer Values})${infer Rest}`
  ? Head | `${LastPart<Head>}==${Parts<Values, ",">}` | Listed<Rest, Operator>
  : Text;

type LastPart<Text> = Text extends `${string}${";" | "," | "(" | Space}${infer Rest}`
  ? LastPart<Rest>
  : Text & string;
type Groups<Text> = Parts<Parts<Parts<Parts<Text, ";">, ",">, "(">, ")">;

/** @internal The field that a comparison compares, or `never` if no operator follows a field. */
export type FieldCompared<Text> = Text extends `${string}${"=" | "<" | ">"}${string}`
  ? LastWord<Trim<FieldIn<FieldIn<FieldIn<Text, "=">, "<">, ">">>>
  : never;

type FieldIn<Text, Operator extends string> = Text extends `${infer Field}${Operator}${string}`
  ? Without<Without<Field, "%">, "!">
  : Text;
type Without<Text, End extends string> = Text extends `${infer Rest}${End}` ? Rest : Text;
type LastWord<Text> = Text extends `${string}${Space}${infer Rest}` ? LastWord<Rest> : Text;

/** @internal The single word after `==` or `!=`; `never` for `null`, a list or several words. */
export type WordCompared<Text> = Text extends `${string}${"==" | "!="}${infer Value}`
  ? Exclude<Trim<Value>, "" | "null" | `${string}${Space | "["}${string}`>
  : never;
