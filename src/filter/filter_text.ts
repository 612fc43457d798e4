import { RuleFault } from "./rule_fault.ts";

/** Marks a value's place in a filter string. U+FDD0 is reserved for internal use by programs. */
export const placeholder = "\ufdd0";

/** Marks the results of `rsql`. JSON cannot contain a symbol, so users cannot send a template. */
export const templateMark: unique symbol = Symbol("template");

/** A filter that code has built as a string with separate values. It does not name a table. */
export interface FilterText {
  /** Distinguishes a template from a resolved filter. */
  readonly kind: "text";
  /** The string, with the index of each value between two {@link placeholder} characters. */
  readonly text: string;
  /** The values, by their index in the string. */
  readonly values: readonly unknown[];
}

/**
 * Builds a rule from a template in filter syntax. Interpolated values are never parsed as syntax.
 * An array becomes the list of `=in=`. Undefined and null match nothing. `=isnull=true` tests for
 * NULL. Another rule can be interpolated in place of a term.
 *
 * @example
 * ```ts
 * const scope = (user: { id: string; teams: string[] }) =>
 *   rsql`ownerId==${user.id},team=in=${user.teams}`;
 * const open = (user: { id: string; teams: string[] }) => rsql`status==open;${scope(user)}`;
 * ```
 */
export function rsql(strings: TemplateStringsArray, ...values: readonly unknown[]): FilterText {
  const [first = "", ...rest] = strings;
  if (strings.some((part) => part.includes(placeholder))) {
    throw new RuleFault("Cannot build the filter: its text holds the noncharacter U+FDD0");
  }
  const text = rest.reduce(
    (before, part, index) => `${before}${placeholder}${index}${placeholder}${part}`,
    first,
  );
  const template = { kind: "text", text, values, [templateMark]: true } as const;
  return template;
}
