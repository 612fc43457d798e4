import { exact } from "./key_path.ts";

/** A filter that `rsql` has made. */
export interface FilterExpression {
  /** In the filter language. */
  readonly filter: string;
  /** The filter. */
  toString(): string;
}

/** A number that no double has, as rows show it in documents and in columns of any values. */
export interface MarkedNumber {
  /** The number as JSON has it. */
  readonly $number: string;
}

/** A value in the template of a filter; a list is for `=in=` and other operators that take lists. */
export type FilterOperand =
  | FilterExpression
  | MarkedNumber
  | string
  | number
  | bigint
  | boolean
  | Date
  | null
  | readonly (MarkedNumber | string | number | bigint | boolean | Date)[];

/**
 * Writes a filter. The values in the template are data: their content is never read as a part of
 * the language. A filter within a filter stands in parentheses. Throws a TypeError for
 * undefined and other objects, for a number beyond 2^53, of which a string or a bigint keeps the digits, and
 * for a value between quotes or next to a part of a word: the message shows its place.
 *
 * @example
 * ```ts
 * import { rsql } from "@svc/resource-api/client";
 *
 * const title = 'Tea "for two"';
 * const recent = rsql`createdAt>${new Date(0)}`;
 * const filter = rsql`title==${title};views=in=${[1, 2]};${recent}`;
 * console.log(String(filter));
 * // title=="Tea \"for two\"";views=in=(1,2);(createdAt>"1970-01-01T00:00:00.000Z")
 * ```
 */
export function filterTemplate(
  parts: TemplateStringsArray,
  ...values: readonly FilterOperand[]
): FilterExpression {
  // No filter has the character that stands for a value here.
  const place = parts.join("\0").replace(quoted, "x").replace(/&&|\|\|/g, ";").match(misplaced);
  if (place) throw new TypeError("No filter has " + place[0].replaceAll("\0", "${…}"));
  const written = values.map((value, index) =>
    // A list between parentheses of the template is their items.
    Array.isArray(value) && /[([]\s*$/.test(parts[index]!) ? value.map(operand) : operand(value)
  );
  const filter = String.raw({ raw: parts }, ...written);
  return { filter, toString: () => filter };
}

/** A quoted string without a value in it. */
const quoted = /(["'])(\\[^\0]|[^\\\0])*?\1/g;

/** A value within quotes, and one that would be a part of a word. */
const misplaced = /(["']|[^ \t\r\n=<>(,;[]\0|\0[^ \t\r\n),;\]]|\0\s*[=!<>]).*/;

function operand(value: unknown): string {
  if (Array.isArray(value)) return `(${value.map(operand)})`;
  // Nothing else that the types allow has members of these names.
  const { filter, $number } = Object(value) as Partial<FilterExpression & MarkedNumber>;
  if (typeof filter === "string") return `(${filter})`;
  // Only a date has this function.
  const text = (value as Date | null)?.toISOString?.() ?? value;
  // Null, and the numbers and booleans that some operators take, have no quotes.
  if (typeof text === "string") return `"${text.replace(/["\\]/g, "\\$&")}"`;
  // The declaration forbids strings, and JavaScript reads them. Undefined is NaN.
  return `${isNaN($number as never) ? exact(text) : $number}`;
}
