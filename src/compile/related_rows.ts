import { equals } from "../filter/operators/value_operators.ts";
import type { RelatedPlan } from "../plan/plan.ts";
import type { RelationStep } from "../schema/relation.ts";
import type { ColumnInfo } from "../schema/table_info.ts";
import type { Dialect, ListNames } from "../sql/dialect.ts";
import { columnOf, type Fragment, identifier, join, sql, tableName } from "../sql/fragment.ts";
import { compileOrder } from "./read_rows.ts";
import { compileFilter, withScanCheck } from "./where.ts";

/**
 * Compiles the SELECT of the related rows of a list of keys: the columns, then the ordinal of the
 * key. The keys are bound as one value, so the text does not depend on their number. The database
 * compares the keys by its own equality.
 */
export function compileRelatedRows(plan: RelatedPlan, dialect: Dialect): Fragment {
  const { relation: { steps: [step, second] } } = plan;
  const own = step.own;
  const encoded = plan.keys.map((key) =>
    own.map((column, index) => dialect.encode(key[index], column))
  );
  const [names, farNames] = namesFor(step, second);
  const scans = plan.isUnindexed && !dialect.plansSemiJoins;
  const near = { step, keys: dialect.listed(encoded, own, step.other, names), names, scans };
  if (second !== undefined) {
    const far = {
      step: second,
      keys: keysAfterLinks(plan, near, farNames, dialect),
      names: farNames,
      scans: false,
    };
    return compileRanked(plan, far, dialect);
  }
  return plan.byIndex ? compileSought(plan, near, dialect) : compileRanked(plan, near, dialect);
}

interface List {
  /** The step by which rows belong to the keys. */
  readonly step: RelationStep;
  readonly keys: Fragment;
  readonly names: ListNames;
  /** True if each row of the table is looked up in the keys, because no index finds it. */
  readonly scans: boolean;
}

/** Compiles the rows of each key by an index that finds the first ones, however many there are. */
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

/** Compiles one scan that finds and numbers the rows of all keys, without an index. */
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
    // The check is repeated for the rows after the sort.
    withScanCheck(sql`${rank} <= ${limit}`, dialect)} ORDER BY ${ordinal}, ${rank} LIMIT ${most}`;
}

/** Returns the keys to which rows of a link table refer, without duplicates. */
function keysAfterLinks(
  { relation: { steps: [, far] }, links }: RelatedPlan,
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

/**
 * Returns the keys with the rows of their step, for FROM. Without an index SQLite would compare
 * each row of the table with all keys: twenty keys took 9 s for a million rows, and 0.5 s with a
 * lookup in a set.
 */
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

/** Returns a condition that a row of a step belongs to the values of a key. */
function belongsTo({ pairs }: RelationStep, { values }: ListNames, dialect: Dialect): Fragment {
  const terms = pairs.map(({ other }, index) =>
    equals(other, dialect, sql`= ${values[index] ?? dialect.operand(other)}`)
  );
  return join(terms, " AND ");
}

/**
 * Returns the names in a statement for one or two steps. Comparisons name columns without a table,
 * so no other name may equal the name of a column. The names of a step's values differ from those
 * of the other step, because the join condition contains both.
 */
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
