import { exact } from "./key_path.ts";

/** A filter that `rsql` has made. */
export interface FilterExpression {
  /** In the filter language. */
  readonly filter: string;
  /** The filter. */
  toString(): string;
}

/** A value in the template of a filter; a list is for `=in=` and other operators that take lists. */
export type FilterOperand =
  | FilterExpression
  | string
  | number
  | bigint
  | boolean
  | Date
  | null
  | readonly (string | number | bigint | boolean | Date)[];

/**
 * Writes a filter. The values in the template are data: their content is never read as a part of
 * the language. A filter within a filter stands in parentheses. Throws a TypeError for a value that
 * no filter has, and for one between quotes, and a RangeError for a number beyond 2^53: a string or
 * a bigint keeps its digits.
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
  if (parts.some((part) => /["']/.test(part.replace(quoted, "")))) {
    throw new TypeError("A value needs no quotes");
  }
  const filter = String.raw({ raw: parts }, ...values.map(operand));
  return { filter, toString: () => filter };
}

const quoted = /(["'])(\\.|[^\\])*?\1/gs;

function operand(value: unknown): string {
  if (Array.isArray(value)) return `(${value.map(operand)})`;
  // Nothing else that the types allow has a member of this name.
  const { filter } = Object(value) as Partial<FilterExpression>;
  if (filter) return `(${filter})`;
  const text = value instanceof Date ? value.toISOString() : value;
  // Null, and the numbers and booleans that some operators take, have no quotes.
  if (typeof text === "string") return `"${text.replace(/["\\]/g, "\\$&")}"`;
  if (text === undefined || Object(text) === text) throw new TypeError(`No filter has ${text}`);
  return `${exact(text)}`;
}
