import { equals } from "../filter/operators/value_operators.ts";
import type { RelatedPlan } from "../plan/plan.ts";
import type { ColumnInfo, TableInfo } from "../schema/table_info.ts";
import type { Dialect, ListNames } from "../sql/dialect.ts";
import { columnOf, type Fragment, identifier, join, sql, tableName } from "../sql/fragment.ts";
import { compileOrder } from "./order.ts";
import { withScanCheck } from "./scan_check.ts";
import { compileFilter } from "./where.ts";

/**
 * Compiles the SELECT of the related rows of a list of keys: the columns, then the ordinal of the
 * key. The keys are bound as one value, so that the text is the same for any number of them; and
 * the database compares them, by its own equality.
 */
export function compileRelatedRows(plan: RelatedPlan, dialect: Dialect): Fragment {
  const { relation: { steps: [step, second] }, keys } = plan;
  const values = keys.map((key) => dialect.encode(key, step.own));
  if (second !== undefined) {
    const names = namesFor([step.table, second.table]);
    const linked = keysAfterLinks(plan, dialect.listed(values, step.own, names), names, dialect);
    return compileRanked(plan, { step: second, keys: linked, names }, dialect);
  }
  const names = namesFor([step.table]);
  const list = { step, keys: dialect.listed(values, step.own, names), names };
  return plan.byIndex ? compileSought(plan, list, dialect) : compileRanked(plan, list, dialect);
}

interface List {
  /** The step by which rows belong to the keys. */
  readonly step: { readonly table: TableInfo; readonly other: ColumnInfo };
  readonly keys: Fragment;
  readonly names: ListNames;
}

/** Where an index gives the first rows of each key, however many rows there are. */
function compileSought(plan: RelatedPlan, { step, keys, names }: List, dialect: Dialect): Fragment {
  const { columns, where, order, limit, most } = plan;
  const { table, other } = step;
  const belongs = equals(other, dialect, sql`= ${names.value}`);
  return dialect.firstOfEach({
    names,
    keys,
    table: tableName(table),
    primaryKey: table.primaryKey,
    columns,
    sorted: order.map(({ column }) => column),
    where: withScanCheck(sql`${belongs} AND ${compileFilter(where, dialect)}`, dialect),
    order: compileOrder(order, dialect),
    orderUnder: (names) =>
      compileOrder(order.map((key) => ({ ...key, column: renamed(key.column, names) })), dialect),
    limit,
    maxRows: most,
  });
}

function renamed(column: ColumnInfo, names: ReadonlyMap<ColumnInfo, string>): ColumnInfo {
  return { ...column, dbName: names.get(column) ?? column.dbName };
}

/** Without an index one scan of the table finds the rows of all keys, and numbers them. */
function compileRanked(plan: RelatedPlan, { step, keys, names }: List, dialect: Dialect): Fragment {
  const { columns, where, order, limit, most } = plan;
  const { list, ordinal, value, rank } = names;
  const selected = join([...columns.map((column) => dialect.selected(column)), ordinal], ", ");
  const number = sql`row_number() OVER (PARTITION BY ${ordinal} ORDER BY ${
    compileOrder(order, dialect)
  }) AS ${rank}`;
  const on = equals(step.other, dialect, sql`= ${value}`);
  const joined = sql`${keys} AS ${list} JOIN ${tableName(step.table)} ON ${on}`;
  const condition = withScanCheck(compileFilter(where, dialect), dialect, columnOf(step.other));
  const ranked = sql`SELECT ${selected}, ${number} FROM ${joined} WHERE ${condition}`;
  return sql`SELECT * FROM (${ranked}) AS ${list} WHERE ${
    // Once more, for the rows that come out of the sort.
    withScanCheck(sql`${rank} <= ${limit}`, dialect)} ORDER BY ${ordinal}, ${rank} LIMIT ${most}`;
}

/** The keys to which rows of a link table refer. Two links between the same rows count as one. */
function keysAfterLinks(
  { relation: { steps: [near, far] }, links }: RelatedPlan,
  keys: Fragment,
  { list, ordinal, value, rank }: ListNames,
  dialect: Dialect,
): Fragment {
  if (far === undefined) return keys;
  const on = equals(near.other, dialect, sql`= ${value}`);
  const joined = sql`${keys} AS ${list} JOIN ${tableName(near.table)} ON ${on}`;
  // Not under the name of the near key, which is in the condition of the join.
  const linked = sql`SELECT DISTINCT ${ordinal}, ${
    dialect.operand(far.own)
  } AS ${rank} FROM ${joined} WHERE ${
    withScanCheck(compileFilter(links, dialect), dialect, columnOf(near.other))
  }`;
  return sql`(SELECT ${ordinal}, ${rank} AS ${value} FROM (${linked}) AS ${list})`;
}

/** Comparisons name columns without a table, so that no other name may be that of a column. */
function namesFor(tables: readonly TableInfo[]): ListNames {
  const taken = new Set(
    tables.flatMap(({ name, columns }) => [name, ...columns.map(({ dbName }) => dbName)])
      .map((name) => name.toLowerCase()),
  );
  const unused = (name: string): string => taken.has(name) ? unused(`_${name}`) : name;
  const named = (name: string) => identifier(unused(name));
  return {
    list: named("_list"),
    ordinal: named("_ordinal"),
    value: named("_value"),
    rank: named("_rank"),
  };
}
