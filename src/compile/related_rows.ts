import { equals } from "../filter/value_operators.ts";
import type { RelatedPlan } from "../plan/plan.ts";
import type { Relation } from "../schema/relation.ts";
import type { Dialect, ListedNames } from "../sql/dialect.ts";
import { type Fragment, identifier, sql } from "../sql/fragment.ts";
import { compileOrder } from "./order.ts";
import { tableName } from "./table_name.ts";
import { compileFilter } from "./where.ts";

/**
 * The related rows of a list of keys: the columns, then the place of the key. The keys are one
 * value, so that the text is the same for any number of them; and the database compares them, so
 * that equal means what it means there.
 */
export function compileRelatedRows(
  plan: RelatedPlan,
  selectList: Fragment,
  dialect: Dialect,
): Fragment {
  const { relation, where, order, limit, most } = plan;
  const names = namesFor(relation);
  const { list, place, value, rank } = names;
  const { table, other } = lastStep(relation);
  const keys = keysOfTarget(plan, names, dialect);
  const on = equals(other, dialect, sql`= ${value}`);
  const counted = sql`row_number() OVER (PARTITION BY ${place} ORDER BY ${
    compileOrder(order, dialect)
  }) AS ${rank}`;
  const ranked = sql`SELECT ${selectList}, ${place}, ${counted} FROM ${keys} AS ${list} JOIN ${
    tableName(table)
  } ON ${on} WHERE ${compileFilter(where, dialect)}`;
  return sql`SELECT * FROM (${ranked}) AS ${list} WHERE ${rank} <= ${limit} ORDER BY ${place}, ${rank} LIMIT ${most}`;
}

/**
 * The list of keys that the target's rows are found by: the given ones, or, behind a link table,
 * those that its rows lead to. Two links between the same rows are one.
 */
function keysOfTarget(
  { relation, keys, links }: RelatedPlan,
  names: Names,
  dialect: Dialect,
): Fragment {
  const [first, second] = relation.steps;
  const values = keys.map((key) => dialect.encode(key, first.own));
  const given = dialect.listed(values, first.own, names);
  if (second === undefined) return given;
  const { list, place, value } = names;
  const on = equals(first.other, dialect, sql`= ${value}`);
  const far = sql`${dialect.operand(second.own)} AS ${names.far}`;
  const linked = sql`SELECT DISTINCT ${place}, ${far} FROM ${given} AS ${list} JOIN ${
    tableName(first.table)
  } ON ${on} WHERE ${compileFilter(links, dialect)}`;
  return sql`(SELECT ${place}, ${names.far} AS ${value} FROM (${linked}) AS ${list})`;
}

interface Names extends ListedNames {
  /** The list itself. */
  readonly list: Fragment;
  /** What the rows of a link table lead to. */
  readonly far: Fragment;
  /** The number of a row among those of its key. */
  readonly rank: Fragment;
}

/** Comparisons name their columns without a table, so nothing else may be called like a column. */
function namesFor(relation: Relation): Names {
  const taken = new Set(
    relation.steps.flatMap(({ table }) => [table.name, ...table.columns.map((c) => c.dbName)])
      .map((name) => name.toLowerCase()),
  );
  const free = (name: string): string => taken.has(name) ? free(`_${name}`) : name;
  const named = (name: string) => identifier(free(name));
  return {
    list: named("_list"),
    place: named("_place"),
    value: named("_value"),
    far: named("_far"),
    rank: named("_rank"),
  };
}

function lastStep({ steps: [first, second] }: Relation): Relation["steps"][0] {
  return second ?? first;
}
