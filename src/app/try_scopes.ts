import { isPolicy, type Policy } from "../auth/policy.ts";
import type { ScopeResult, User } from "../auth/authorize.ts";
import { compileFilter } from "../compile/where.ts";
import type { Driver } from "../db/driver.ts";
import { type Filter, relatedTerms, termsOnSameRow } from "../filter/filter.ts";
import type { Operator } from "../filter/operators/operator.ts";
import {
  equalOperator,
  inOperator,
  notEqualOperator,
} from "../filter/operators/operator_registry.ts";
import { RuleFault } from "../filter/rule_fault.ts";
import { Problem } from "../problem/problem.ts";
import type { Resource } from "../resource/model/resource.ts";
import type { Observer } from "../runtime/runtime.ts";
import type { ColumnInfo, TableInfo } from "../schema/table_info.ts";
import { sql, tableName, toStatement } from "../sql/fragment.ts";

/**
 * Tests the scopes before the service starts: policies with their own example users, other
 * functions with `samples`. The database parses each filter, but reads no row. Throws a plain Error
 * for the first faulty scope. Only logs a notice if a public function throws, if a policy throws
 * for the default example user (which may lack members), or if a relation has no index.
 */
export async function tryScopes(
  resources: readonly Resource[],
  samples: readonly User[],
  observe: Observer,
): Promise<void> {
  const advised = new Set<ColumnInfo>();
  for (const resource of resources) {
    for (const trial of trialsOf(resource, samples)) {
      const filter = await tryScope(trial, resource, observe);
      if (filter !== null) adviseIndexes(filter, { trial, resource, observe, advised });
    }
  }
}

function adviseIndexes(
  filter: Filter,
  { trial, resource, observe, advised }: {
    readonly trial: Trial;
    readonly resource: Resource;
    readonly observe: Observer;
    readonly advised: Set<ColumnInfo>;
  },
): void {
  for (const term of relatedTerms(filter)) {
    for (const { table, other: [column], other } of term.relation.steps) {
      if (column === undefined || advised.has(column) || other.some(resource.isIndexed)) continue;
      advised.add(column);
      const message = `${trial.name} of "${resource.table.label}" finds rows of "${table.label}" ` +
        `by "${column.name}", but no index begins with this column: create one`;
      observe({ kind: "notice", message });
    }
    adviseIndexes(term.filter, { trial, resource, observe, advised });
  }
}

interface Trial {
  readonly name: string;
  readonly policyName: string | null;
  readonly caller: string;
  readonly isGiven: boolean;
  call(): ScopeResult | Promise<ScopeResult>;
}

function trialsOf({ policy }: Resource, samples: readonly User[]): readonly Trial[] {
  const trials: Trial[] = [];
  for (const [access, scope] of policy.publicScopes) {
    const name = `auth.public.${access}`;
    const policyName = isPolicy(scope) ? scope.policyName : null;
    trials.push({ name, policyName, caller: "without a user", isGiven: false, call: scope });
  }
  for (const [access, scope] of policy.scopes) {
    const named: Policy | null = isPolicy(scope) ? scope : null;
    const isGiven = named?.hasSamples ?? true;
    const policyName = named?.policyName ?? null;
    for (const [index, user] of (named?.samples ?? samples).entries()) {
      const caller = isGiven ? `with sample ${index + 1}` : `with the user ${JSON.stringify(user)}`;
      trials.push({ name: `auth.${access}`, policyName, caller, isGiven, call: () => scope(user) });
    }
  }
  return trials;
}

function requireEnumValues(filter: Filter): void {
  if (filter.kind === "related") return requireEnumValues(filter.filter);
  if (filter.kind !== "compare") return termsOnSameRow(filter).forEach(requireEnumValues);
  const { column: { name, enumValues }, operator, values } = filter;
  const known: readonly unknown[] | null = enumOperators.has(operator) ? enumValues : null;
  const wrong = known === null ? -1 : values.findIndex((value) => !known.includes(value));
  if (wrong < 0) return;
  throw new RuleFault(
    `"${name}" is never ${JSON.stringify(values[wrong])}: use one of ${enumValues?.join(", ")}`,
  );
}

const enumOperators: ReadonlySet<Operator> = new Set([
  ...[equalOperator, notEqualOperator, inOperator],
]);

async function tryStatement(filter: Filter, table: TableInfo, driver: Driver): Promise<void> {
  const { dialect } = driver;
  const condition = compileFilter(filter, dialect);
  const rows = sql`SELECT 1 FROM ${tableName(table)} WHERE ${condition} LIMIT 0`;
  try {
    await driver.query(toStatement(rows, dialect.placeholder));
  } catch (cause) {
    throw new RuleFault("the database does not accept the rule", { cause });
  }
}

/** Returns the filter of a test call; null for `all()` or `none()`, or if the function threw. */
async function tryScope(
  { name, policyName, caller, isGiven, call }: Trial,
  { table, driver, policy, identityOf }: Resource,
  observe: Observer,
): Promise<Filter | null> {
  const fault = (message: string, cause: unknown) => {
    const named = policyName === null ? "" : `, policy "${policyName}"`;
    const told = message.startsWith(named.slice(2)) ? message.slice(named.length) : message;
    const place = `${name}${named}: `;
    return new Error(`Cannot serve "${table.label}": ${place}${told}`, { cause });
  };
  try {
    const filter = policy.resolve(await call(), name);
    if (filter.kind === "all" || filter.kind === "none") return null;
    requireEnumValues(filter);
    // With `actAs`, the statement is not tried, because it would need the role of a user.
    if (identityOf === null) await tryStatement(filter, table, driver);
    return filter;
  } catch (cause) {
    if (cause instanceof RuleFault || cause instanceof Problem) {
      const { message } = cause.cause instanceof RuleFault || cause.cause instanceof Problem
        ? cause.cause
        : cause;
      throw fault(message, cause);
    }
    const reason = cause instanceof Error ? cause.message : String(cause);
    if (isGiven) {
      throw fault(
        `it cannot be tried ${caller}: ${reason}; change the function or the samples`,
        cause,
      );
    }
    const message =
      `${name} of "${table.label}" could not be tried ${caller}: ${reason}; give it ` +
      "samples";
    observe({ kind: "notice", message });
    return null;
  }
}
