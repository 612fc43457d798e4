import { RuleFault } from "./rule_fault.ts";

/**
 * Marks the place of a value in a filter that code builds as a string. The mark is a Unicode
 * noncharacter, which is reserved for internal use, so no exchanged string contains it.
 */
export const placeholder = "\ufdd0";

/** Marks the results of `rsql`. JSON has no symbols, so a value of a user is no template. */
export const templateMark: unique symbol = Symbol("template");

/**
 * A filter that code builds as a string, with separate values. The string is resolved for the table
 * that the filter is used with.
 */
export interface FilterText {
  /** Distinguishes a filter text from a resolved filter. */
  readonly kind: "text";
  /** The string. Each value is replaced by its index between two {@link placeholder} characters. */
  readonly text: string;
  /** The values of the placeholders, by index. */
  readonly values: readonly unknown[];
}

/**
 * Builds a rule from a template of a filter. Interpolated values are never parsed as syntax. An
 * array becomes the list of `=in=`. Undefined and null match nothing. `=isnull=true` tests for
 * NULL. A template may contain another rule in the place of a term.
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
