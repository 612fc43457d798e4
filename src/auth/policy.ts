import type { FilterContext } from "../filter/resolve_filter.ts";
import { draft, isRule, type Rule } from "../filter/rule.ts";
import { notFilter, RuleFault } from "../filter/rule_fault.ts";
import { showValue } from "../problem/show_value.ts";
import { Problem } from "../problem/problem.ts";
import type { TableInfo } from "../schema/table_info.ts";
import { type AnyTable, isTableInfo, tableInfoOf, type TableLike } from "../schema/table_like.ts";
import type { User } from "./authorize.ts";

/** A named rule for the rows that a user may access. Can be a scope, or a part of other rules. */
export interface Policy<U extends User = User, Of = AnyTable> {
  (user: U): Rule<Of>;
  /** The name of the policy, for messages and the dashboard. */
  readonly policyName: string;
  /** The example users with which the service tests the policy when the service starts. */
  readonly samples: readonly U[];
  /** True if {@link policy} was called with samples. */
  readonly hasSamples: boolean;
}

/** The options of {@link policy}. */
export interface PolicyOptions<U extends User = User> {
  /** Users for the policy's test at start, one for each branch. Default: `[{ id: "sample" }]`. */
  readonly samples?: readonly U[] | undefined;
}

/**
 * Names a rule about the rows of a table. At its start, the service tests each policy that is a
 * scope: the function, the names of relations and columns, the operators, values and SQL. If a test
 * fails, the service does not start. `rows` must be synchronous and depend only on the user.
 *
 * @param table The table whose rows the policy describes, or the name of an introspected table.
 * @param name The name for messages and for the dashboard, such as `admin of the team`.
 * @param rows Returns the rule for a user.
 * @throws {Error} If the name or the list of samples is empty, or `table` is not a table.
 *
 * @example
 * ```ts
 * import { and, eq, policy, relations, resource, table, text, type User } from "@svc/resource-api";
 *
 * const teams = table("teams", { id: text().primaryKey(), name: text().notNull() });
 * const members = table("members", {
 *   id: text().primaryKey(),
 *   teamId: text().notNull(),
 *   userId: text().notNull(),
 *   role: text().notNull(),
 * });
 * const ofTeams = relations(teams, {
 *   members: { type: "hasMany", resource: members, foreignKey: members.teamId },
 * });
 * const teamAdmin = policy(teams, "admin of the team", (user: User) =>
 *   ofTeams.members.some(and(eq(members.userId, user.id), eq(members.role, "admin"))));
 * resource(teams, { id: teams.id, relations: ofTeams, auth: { delete: teamAdmin } });
 * ```
 */
export function policy<U extends User = User, Of = AnyTable>(
  table: TableLike<unknown, unknown, Of> | TableInfo | string,
  name: string,
  rows: (user: U) => Rule<NoInfer<Of>>,
  { samples }: PolicyOptions<U> = {},
): Policy<U, Of> {
  if (typeof name !== "string" || name.trim() === "") {
    throw new Error(`Cannot make a policy: its name is ${showValue(name)}, not a string`);
  }
  if (samples?.length === 0) {
    throw new Error(`Cannot make the policy "${name}": samples is empty, so it is never tried`);
  }
  const owner = typeof table === "string" || isTableInfo(table) ? table : tableInfoOf(table);
  const named = ({ message }: Error) => `policy "${name}": ${message}`;
  const describe = (user: U): Rule<Of> =>
    draft((context, resolve) => {
      try {
        requireTable(context, owner);
        return resolve(requireRule(rows(user)), context);
      } catch (cause) {
        if (cause instanceof Problem) throw new Problem(cause.slug, named(cause), cause);
        throw cause instanceof RuleFault ? new RuleFault(named(cause), { cause }) : cause;
      }
    });
  // This user may lack members of `U`. If the policy then throws, the service only logs a notice.
  const sampleUsers = samples ?? [{ id: "sample" } as U];
  return Object.assign(describe, {
    policyName: name,
    samples: sampleUsers,
    hasSamples: samples !== undefined,
  });
}

export function isPolicy(scope: unknown): scope is Policy {
  return typeof scope === "function" && "policyName" in scope;
}

function requireTable({ table }: FilterContext, owner: TableInfo | string): void {
  if (owner === table || owner === table.label) return;
  const name = typeof owner === "string" ? owner : owner.label;
  throw new RuleFault(
    `it is about "${name}", not about "${table.label}": use it inside a relation to "${name}", ` +
      "or name the table of the resource",
  );
}

function requireRule(result: unknown): Rule {
  if (isRule(result)) return result;
  if (result instanceof Promise) {
    result.catch(() => {});
    throw new RuleFault(
      "it must return a filter, not a promise: load the data when you authenticate the user",
    );
  }
  throw notFilter(result);
}
