import { quantified } from "../../filter/filter.ts";
import type { RelationQuantifier } from "../../filter/syntax/filter_syntax.ts";
import type { FilterableRelation, FilterContext } from "../../filter/resolve_filter.ts";
import { excerptOf, filterError } from "../../filter/syntax/filter_error.ts";
import { all } from "../../filter/builders.ts";
import { type Draft, draft, isRule, type Rule } from "../../filter/rule.ts";
import { notFilter, RuleFault } from "../../filter/rule_fault.ts";
import type { Relation } from "../../schema/relation.ts";
import type { TableInfo } from "../../schema/table_info.ts";
import type { AnyTable, TableLike } from "../../schema/table_like.ts";
import type { RelationOptions } from "../model/resource_options.ts";
import { requireTableInfo } from "./resource_definition.ts";

/** A relation, with methods that create rules about its related rows. */
export interface RelationTo<Of, Target> {
  /**
   * Returns a rule for rows with a related row that matches `rule`. Without `rule`, any row
   * matches.
   */
  some(...rule: readonly [] | readonly [rule: Rule<Target>]): Draft<Of>;
  /** Returns a rule for rows that have no related row that matches `rule`. */
  none(...rule: readonly [] | readonly [rule: Rule<Target>]): Draft<Of>;
  /**
   * Returns a rule for rows whose related rows all match `rule`, or that have no related rows. A
   * related row for which the rule is unknown because of NULL does not match.
   */
  every(rule: Rule<Target>): Draft<Of>;
}

/** @internal The name of a table as a type, if the compiler knows the name. */
export type NameOf<T> = T extends { readonly $inferName?: infer Name } ? NonNullable<Name>
  : T extends { readonly _?: { readonly name?: infer Name } } ? NonNullable<Name>
  : AnyTable;

/**
 * Declares the relations of a table, for the option `relations` of its resource and for rules. Each
 * relation has the methods `some`, `none` and `every`. The rule that is passed to these methods is
 * about the related row.
 *
 * @throws {Error} If the table was not made by `table()` or Drizzle.
 *
 * @example The rows of teams that the user is an admin of
 * ```ts
 * import { and, eq, relations, table, text } from "@svc/resource-api";
 *
 * const teams = table("teams", { id: text().primaryKey() });
 * const members = table("members", {
 *   id: text().primaryKey(),
 *   teamId: text().notNull(),
 *   userId: text().notNull(),
 *   role: text().notNull(),
 * });
 * const ofTeams = relations(teams, {
 *   members: { type: "hasMany", resource: members, foreignKey: members.teamId },
 * });
 * const administered = (user: { id: string }) =>
 *   ofTeams.members.some(and(eq(members.userId, user.id), eq(members.role, "admin")));
 * ```
 */
export function relations<
  Of,
  const R extends Record<string, { readonly resource: unknown; readonly type: Relation["type"] }>,
>(
  table: TableLike<unknown, unknown, Of> | TableInfo,
  declared:
    & R
    & { readonly [K in keyof R]: RelationOptions<Of, NameOf<R[K]["resource"]>, R[K]["type"]> },
): { readonly [K in keyof R]: R[K] & RelationTo<Of, NameOf<R[K]["resource"]>> } {
  const owner = requireTableInfo(table);
  const entries = Object.entries<RelationOptions>(declared).map(([name, options]) => {
    const quantify = (quantifier: RelationQuantifier) => (...given: readonly [Rule?]): Draft =>
      draft((context, resolve) => {
        // Only an omitted argument means any row: an undefined rule must not grant access.
        const [rule] = given.length === 0 ? [all()] : given;
        if (!isRule(rule)) throw notFilter(rule, `${name}.${quantifier}() got`);
        const { relation, target } = follow(name, options, owner, context);
        return quantified(quantifier, [relation], resolve(rule, target));
      });
    // The methods are not enumerable, because the option `relations` checks all enumerable members.
    const methods = (["some", "none", "every"] as const).map((one) => [one, {
      value: quantify(one),
    }]);
    const hidden = { ...Object.fromEntries(methods), [relationOwner]: { value: owner } };
    return [name, Object.defineProperties({ ...options }, hidden)] as const;
  });
  // The cast is safe: each declared relation has received the three methods above.
  return Object.fromEntries(entries) as never;
}

const relationOwner: unique symbol = Symbol("relationOwner");

/** Throws a plain Error for a relation in `given` that {@link relations} made for another table. */
export function requireOwnRelations(given: unknown, { label }: TableInfo): void {
  for (const [name, relation] of Object.entries(Object(given))) {
    const owner: TableInfo | undefined = Reflect.get(Object(relation), relationOwner);
    if (owner === undefined || owner.label === label) continue;
    throw new Error(
      `Cannot relate "${label}" by relations.${name}: relations() declared it for "${owner.label}"`,
    );
  }
}

function follow(
  name: string,
  options: RelationOptions,
  owner: TableInfo,
  context: FilterContext,
): FilterableRelation {
  if (context.table !== owner) {
    throw new RuleFault(
      `"${name}" is a relation of "${owner.label}", not of "${context.table.label}": use it inside ` +
        `a relation to "${owner.label}"`,
    );
  }
  const found = context.follow?.(name) ?? null;
  if (found === null) {
    throw filterError(
      0,
      "a relation that may be filtered by",
      `Cannot filter by ${
        excerptOf(name)
      }: the resource "${owner.label}" has no relation of this ` +
        "name to filter by",
    );
  }
  const { resource } = options;
  const { target } = found.relation;
  const isSame = typeof resource === "string"
    ? resource === target.label
    : requireTableInfo(resource) === target;
  if (isSame) return found;
  throw new RuleFault(
    `relations.${name} of the resource "${owner.label}" leads to "${target.label}" instead`,
  );
}
