import { equalitySql } from "../filter/operators/operator_registry.ts";
import type { Filter } from "../filter/filter.ts";
import type { RelatedKeys, RelatedPlan } from "../plan/plan.ts";
import type { RelationStep } from "../schema/relation.ts";
import type { ColumnInfo } from "../schema/table_info.ts";
import type { Dialect, ListNames } from "../sql/dialect.ts";
import { columnOf, type Fragment, identifier, join, sql, tableName } from "../sql/fragment.ts";
import { compileOrder } from "./read_rows.ts";
import { compileFilter, withScanCheck } from "./where.ts";

/** Compiles a SELECT of rows related to several keys. Each result row ends with its key's index. */
export function compileRelatedRows(plan: RelatedPlan, dialect: Dialect): Fragment {
  const keys = keysOfTarget(plan, dialect);
  return plan.byIndex && plan.relation.steps.length === 1
    ? compileSought(plan, keys, dialect)
    : compileRanked(plan, keys, dialect);
}

/** Returns the SQL after FROM for rows related to keys, and the column with the row's key index. */
export function joinRelatedRows(
  plan: RelatedKeys,
  where: Filter,
  dialect: Dialect,
): { readonly rows: Fragment; readonly ordinal: Fragment } {
  const keys = keysOfTarget(plan, dialect);
  return {
    rows: rowsOfKeys(keys, compileFilter(where, dialect), dialect),
    ordinal: keys.names.ordinal,
  };
}

function keysOfTarget(plan: RelatedKeys, dialect: Dialect): List {
  const { relation: { steps: [step, second] } } = plan;
  const own = step.own;
  const encoded = plan.keys.map((key) =>
    own.map((column, index) => dialect.encode(key[index], column))
  );
  const [names, farNames] = namesFor(step, second);
  const scans = plan.isUnindexed && !dialect.plansSemiJoins;
  const near = { step, keys: dialect.listed(encoded, own, step.other, names), names, scans };
  if (second === undefined) return near;
  const keys = keysAfterLinks(plan, near, farNames, dialect);
  return { step: second, keys, names: farNames, scans: false };
}

interface List {
  readonly step: RelationStep;
  readonly keys: Fragment;
  readonly names: ListNames;
  /** True if each row is looked up in the list of keys, because no index finds a key's rows. */
  readonly scans: boolean;
}

/** Compiles a read that uses an index to read only the first related rows of each key. */
function compileSought(plan: RelatedPlan, { step, keys, names }: List, dialect: Dialect): Fragment {
  const { columns, where, order, limit, most } = plan;
  const { table } = step;
  return dialect.firstOfEach({
    names,
    keys,
    table: tableName(table),
    primaryKey: table.primaryKey,
    columns,
    sorted: order.map(({ column }) => column),
    where: withScanCheck(
      sql`${belongsTo(step, names, dialect)} AND ${compileFilter(where, dialect)}`,
      dialect,
    ),
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

function compileRanked(plan: RelatedPlan, keys: List, dialect: Dialect): Fragment {
  const { columns, where, order, limit, most } = plan;
  const { list, ordinal, rank } = keys.names;
  const selected = join([...columns.map((column) => dialect.selected(column)), ordinal], ", ");
  const number = sql`row_number() OVER (PARTITION BY ${ordinal} ORDER BY ${
    compileOrder(order, dialect)
  }) AS ${rank}`;
  const ranked = sql`SELECT ${selected}, ${number} FROM ${
    rowsOfKeys(keys, compileFilter(where, dialect), dialect)
  }`;
  return sql`SELECT * FROM (${ranked}) AS ${list} WHERE ${
    // The outer SELECT reads the sorted rows again, so it needs its own scan check.
    withScanCheck(sql`${rank} <= ${limit}`, dialect)} ORDER BY ${ordinal}, ${rank} LIMIT ${most}`;
}

function keysAfterLinks(
  { relation: { steps: [, far] }, links }: RelatedKeys,
  near: List,
  { ordinal, values }: ListNames,
  dialect: Dialect,
): Fragment {
  if (far === undefined) return near.keys;
  const cells = values.map((name, index) => {
    const { own } = far.pairs[index] ?? far.pairs[0];
    return sql`${dialect.operand(own)} AS ${name}`;
  });
  return sql`(SELECT DISTINCT ${ordinal}, ${join(cells, ", ")} FROM ${
    rowsOfKeys(near, compileFilter(links, dialect), dialect)
  })`;
}

/** Joins keys with their rows. Without an index on the rows, IN makes the scan 18 times faster. */
function rowsOfKeys(
  { step, keys, names, scans }: List,
  condition: Fragment,
  dialect: Dialect,
): Fragment {
  const [table, list] = [tableName(step.table), sql`${keys} AS ${names.list}`];
  const belongs = belongsTo(step, names, dialect);
  const checked = columnOf(step.pairs[0].other);
  if (!scans) {
    const where = withScanCheck(condition, dialect, checked);
    return sql`${list} JOIN ${table} ON ${belongs} WHERE ${where}`;
  }
  const own = join(
    step.pairs.map(({ other }) => dialect.indexed(other) ?? dialect.operand(other)),
    ", ",
  );
  const isListed = sql`(${own}) IN (SELECT ${join(names.values, ", ")} FROM ${list})`;
  const where = withScanCheck(sql`${isListed} AND ${condition}`, dialect, checked);
  return sql`${table} CROSS JOIN ${list} ON ${belongs} WHERE ${where}`;
}

function belongsTo({ pairs }: RelationStep, { values }: ListNames, dialect: Dialect): Fragment {
  const terms = pairs.map(({ other }, index) =>
    equalitySql(other, dialect, sql`= ${values[index] ?? dialect.operand(other)}`)
  );
  return join(terms, " AND ");
}

/** Returns aliases that no column name equals: comparisons name columns without their table. */
function namesFor(near: RelationStep, far: RelationStep | undefined): [ListNames, ListNames] {
  const tables = [near.table, ...(far === undefined ? [] : [far.table])];
  const taken = new Set(
    tables.flatMap(({ name, columns }) => [name, ...columns.map(({ dbName }) => dbName)])
      .map((name) => name.toLowerCase()),
  );
  const unused = (name: string): string => taken.has(name) ? unused(`_${name}`) : name;
  const named = (name: string) => identifier(unused(name));
  const all = { list: named("_list"), ordinal: named("_ordinal"), rank: named("_rank") };
  const valuesOf = (start: string, step: RelationStep | undefined) =>
    (step?.pairs ?? []).map((_pair, index) => named(`${start}${index}`));
  return [{ ...all, values: valuesOf("_value", near) }, { ...all, values: valuesOf("_far", far) }];
}
