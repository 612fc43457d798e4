import { requireExactValue } from "./key_path.ts";

/** A filter that `rsql` has created. */
export interface FilterExpression {
  /** The filter in the filter language. */
  readonly filter: string;
  /** Returns {@link filter}. */
  toString(): string;
}

/** A number in a response that a double cannot represent exactly. */
export interface MarkedNumber {
  /** The number as JSON text. */
  readonly $number: string;
}

/** A value in a filter template. Operators such as `=in=` take a list. */
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
 * Returns a filter. The values in the template are data: they are never parsed as filter syntax. A
 * nested filter is enclosed in parentheses.
 *
 * @throws {TypeError} If a value is undefined, an unsupported object, or a number beyond 2^53 (use
 * a string or a bigint), or if a value is inside quotes or is only a part of a word.
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
  // No filter contains a NUL, so a NUL can mark the position of each value.
  const place = parts.join("\0").replace(quoted, "x").replace(/&&|\|\|/g, ";").match(misplaced);
  if (place) throw new TypeError("No filter has " + place[0].replaceAll("\0", "${…}"));
  const written = values.map((value, index) =>
    // If the template has parentheses around a list, no parentheses are added.
    Array.isArray(value) && /[([]\s*$/.test(parts[index]!) ? value.map(operand) : operand(value)
  );
  const filter = String.raw({ raw: parts }, ...written);
  return { filter, toString: () => filter };
}

const quoted = /(["'])(\\[^\0]|[^\\\0])*?\1/g;

const misplaced = /(["']|[^ \t\r\n=<>(,;[]\0|\0[^ \t\r\n),;\]]|\0\s*[=!<>]).*/;

function operand(value: unknown): string {
  if (Array.isArray(value)) return `(${value.map(operand)})`;
  // The cast is safe: only filters and marked numbers have these members.
  const { filter, $number } = Object(value) as Partial<FilterExpression & MarkedNumber>;
  if (typeof filter === "string") return `(${filter})`;
  // The cast is safe: only a Date has this function.
  const text = (value as Date | null)?.toISOString?.() ?? value;
  // Some operators require null, numbers and booleans without quotes.
  if (typeof text === "string") return `"${text.replace(/["\\]/g, "\\$&")}"`;
  // If `$number` is undefined, `isNaN` is true. Contrary to its type, `isNaN` also accepts strings.
  return `${isNaN($number as never) ? requireExactValue(text) : $number}`;
}
