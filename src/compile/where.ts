import { comparedColumns, type Filter, type Related, termsOnSameRow } from "../filter/filter.ts";
import { pathComparisonSql } from "../filter/operators/path_comparison.ts";
import { unreachable } from "../problem/unreachable.ts";
import type { AddedColumn, Dialect } from "../sql/dialect.ts";
import {
  columnOf,
  type Fragment,
  identifier,
  join,
  rawSql,
  sql,
  type Statement,
  tableName,
  toStatement,
} from "../sql/fragment.ts";
import { equalOperator, inOperator } from "../filter/operators/operator_registry.ts";
import type { PathColumn, Plan, ReadPlan, RelatedColumn } from "../plan/plan.ts";
import type { Relation } from "../schema/relation.ts";
import type { ColumnInfo, TableInfo } from "../schema/table_info.ts";
import { type Key, keysFilter } from "../plan/key.ts";

/** Compiles a filter to SQL. AND and OR are in parentheses, so that conditions can be combined. */
export function compileFilter(filter: Filter, dialect: Dialect): Fragment {
  return compileAt(filter, { dialect, isForFewRows: false }, 0);
}

/** Compiles a filter on at most `count` rows. For few rows, relations use EXISTS, not IN. */
export function compileFilterOnRows(filter: Filter, count: number, dialect: Dialect): Fragment {
  return compileAt(filter, { dialect, isForFewRows: count <= fewRows }, 0);
}

const fewRows = 20;

interface Context {
  readonly dialect: Dialect;
  readonly isForFewRows: boolean;
}

/** Compiles a filter. The related row at depth 1, 2, … has the alias `_r1`, `_r2`, …. */
function compileAt(filter: Filter, context: Context, depth: number): Fragment {
  switch (filter.kind) {
    case "all":
      return rawSql("1=1");
    case "none":
      return rawSql("1=0");
    case "and":
    case "or": {
      const terms = filter.terms.map((term) => compileAt(term, context, depth));
      return sql`(${join(terms, filter.kind === "and" ? " AND " : " OR ")})`;
    }
    case "related":
      return compileRelated(filter, context, depth);
    case "not": {
      const term = compileAt(filter.term, context, depth);
      return isNeverUnknown(filter.term, context)
        ? sql`NOT (${term})`
        : sql`((${term}) IS NOT TRUE)`;
    }
    case "compare":
      return filter.path === undefined
        ? filter.operator.toSql(filter.column, filter.values, context.dialect)
        : pathComparisonSql(filter, filter.path, context.dialect);
    default:
      return unreachable(filter);
  }
}

/** Returns true if the condition is never NULL. Then Postgres runs NOT EXISTS as an anti-join. */
function isNeverUnknown(filter: Filter, context: Context): boolean {
  if (filter.kind === "compare") return false;
  return filter.kind === "related"
    ? !isListed(filter, context)
    : termsOnSameRow(filter).every((term) => isNeverUnknown(term, context));
}

/** Returns true if the filter compiles to IN with a subquery that runs once for all rows. */
function isListed({ once }: Related, { dialect, isForFewRows }: Context): boolean {
  return once === true && !isForFewRows && !dialect.plansSemiJoins;
}

/**
 * Compiles a relation's steps to nested subqueries. In a subquery, a column name without a table
 * refers to the innermost row. The first step can use IN, whose list the database computes once:
 * EXISTS would find the posts of `author.posts.title` again for each post of an author.
 */
function compileRelated(related: Related, context: Context, depth: number): Fragment {
  const { relation, filter, links } = related;
  const { dialect } = context;
  const isOnce = isListed(related, context);
  const rowName = (level: number) =>
    level === 0 ? identifier(relation.owner.name) : rawSql(`"_r${level}"`);
  const last = relation.steps.length - 1;
  const within = relation.toMany ? { dialect, isForFewRows: false } : context;
  const innermost = compileAt(filter, within, depth + relation.steps.length);
  return relation.steps.reduceRight((inner, { table, pairs }, step) => {
    const [before, here] = [rowName(depth + step), rowName(depth + step + 1)];
    const keys = pairs.map(({ own }) => dialect.operand(own, before));
    const found = pairs.map(({ other }) => dialect.operand(other, here));
    const isSame = join(
      found.map((value, index) => sql`${value} = ${keys[index] ?? value}`),
      " AND ",
    );
    const isLink = step < last && links.kind !== "all";
    const condition = isLink
      ? sql`${compileAt(links, within, depth + step + 1)} AND ${inner}`
      : inner;
    const source = rowsWithFunctions(table, step === last ? comparedColumns(filter) : []);
    const rows = sql`${source} AS ${here} WHERE`;
    // The check names this column, so that SQLite evaluates it for each row that it reads here.
    const column = columnOf(pairs[0].other, here);
    return isOnce && step === 0
      ? sql`${rowOf(keys)} IN (SELECT ${join(found, ", ")} FROM ${rows} ${
        withScanCheck(condition, dialect, column)
      })`
      : sql`EXISTS (SELECT 1 FROM ${rows} ${
        withScanCheck(sql`${isSame} AND ${condition}`, dialect, column)
      })`;
  }, innermost);
}

export function compileAddedColumn(
  added: RelatedColumn | PathColumn,
  dialect: Dialect,
): AddedColumn {
  if (!("path" in added)) return compileRelatedColumn(added, dialect);
  const { column, source, path, type } = added;
  const name = identifier(column.dbName);
  return { name, select: sql`SELECT ${dialect.jsonPaths.at(source, path)[type]} AS ${name}` };
}

function compileRelatedColumn(
  { column, relation, source, where }: RelatedColumn,
  dialect: Dialect,
): AddedColumn {
  const { owner, type, steps: [{ table, pairs, other }] } = relation;
  const [before, here] = [identifier(owner.name), rawSql('"_r1"')];
  const isSame = join(
    pairs.map(({ own, other }) =>
      sql`${dialect.operand(other, here)} = ${dialect.operand(own, before)}`
    ),
    " AND ",
  );
  const condition = compileAt(where, { dialect, isForFewRows: false }, 1);
  const isUnique = type === "belongsTo" && table.distinct &&
    (other.length === 1 && other[0]?.unique === true ||
      table.primaryKey.every((column) => other.includes(column)));
  // Several related rows can match. As with `include`, the first row by primary key is used.
  const keys = table.primaryKey.map((column) => dialect.ordered(column));
  const order = keys.length === 0 ? rawSql("") : sql` ORDER BY ${join(keys, ", ")}`;
  const from = rowsWithFunctions(table, [source, ...comparedColumns(where)]);
  const rows = sql`FROM ${from} AS ${here} WHERE ${isSame} AND ${condition}`;
  const value = columnOf(source, here);
  const select = sql`SELECT ${value} AS ${identifier(column.dbName)} ${rows}`;
  return {
    name: identifier(column.dbName),
    select: isUnique ? select : sql`${select}${order} LIMIT 1`,
  };
}

function rowOf(values: readonly Fragment[]): Fragment {
  const row = join(values, ", ");
  return values.length === 1 ? row : sql`(${row})`;
}

/** Puts the dialect's check before a condition, to stop long scans: {@link Dialect.scanCheck}. */
export function withScanCheck(condition: Fragment, dialect: Dialect, column?: Fragment): Fragment {
  const { scanCheck } = dialect;
  return scanCheck === null ? condition : sql`${scanCheck(column)} AND ${condition}`;
}

export function tableScanCheck(table: TableInfo, { scanCheck }: Dialect): Fragment | null {
  if (scanCheck === null) return null;
  const [key] = table.primaryKey;
  const isInteger = key?.kind === "integer" && table.primaryKey.length === 1;
  return scanCheck(undefined, isInteger ? identifier(key.dbName) : undefined);
}

export function prependScanCheck(check: Fragment | null, condition: Fragment): Fragment {
  return check === null ? condition : sql`${check} AND ${condition}`;
}

/** Returns true if a plan can examine more rows than it returns, unlike a read by key. */
export function mayScan({ where, table, order, limit }: ReadPlan): boolean {
  if (where.kind !== "all") return !selectsByPrimaryKey(where, table);
  const { primaryKey } = table;
  return limit === null || order.length !== primaryKey.length ||
    order.some(({ column, descending }, index) =>
      column !== primaryKey[index] || descending !== order[0]?.descending
    );
}

/** Returns true if a filter selects at most one row: its terms contain the whole primary key. */
export function isOneRow(filter: Filter, { primaryKey, distinct }: TableInfo): boolean {
  const terms = filter.kind === "and" ? filter.terms : [filter];
  return distinct && primaryKey.every((column) => terms.some((term) => isEqualTo(term, column)));
}

function isEqualTo(term: Filter, column: ColumnInfo): boolean {
  return term.kind === "compare" && term.column === column && term.path === undefined &&
    term.operator === equalOperator;
}

export function selectsByPrimaryKey(filter: Filter, table: TableInfo): boolean {
  const { primaryKey } = table;
  switch (filter.kind) {
    case "compare": {
      const { column, operator, path } = filter;
      return path === undefined && primaryKey.length === 1 && column === primaryKey[0] &&
        (operator === equalOperator || operator === inOperator);
    }
    case "and":
      return filter.terms.some((term) => selectsByPrimaryKey(term, table)) ||
        primaryKey.length > 1 &&
          primaryKey.every((column) => filter.terms.some((term) => isEqualTo(term, column)));
    case "or":
      return filter.terms.every((term) => selectsByPrimaryKey(term, table));
    case "none":
      return true;
    default:
      return false;
  }
}

/** Compiles a SELECT by keys. Each result row has the columns, then a boolean for each filter. */
export function compileFiltersOnRows(
  { table, columns, keys, filters }: {
    readonly table: TableInfo;
    readonly columns: readonly ColumnInfo[];
    readonly keys: readonly Key[];
    readonly filters: readonly Filter[];
  },
  dialect: Dialect,
): Statement {
  const selected = join([
    ...columns.map((column) => dialect.selected(column)),
    ...filters.map((filter) => sql`(${compileFilterOnRows(filter, keys.length, dialect)}) IS TRUE`),
  ], ", ");
  const where = compileFilter(keysFilter(keys, table), dialect);
  return toStatement(
    sql`SELECT ${selected} FROM ${tableName(table)} WHERE ${where}`,
    dialect.placeholder,
  );
}

export function withFunctionColumns(plan: Plan): Plan {
  if (plan.kind === "insert" || plan.kind === "update" || plan.kind === "delete") return plan;
  const used = [
    ...comparedColumns(plan.where),
    ..."columns" in plan ? plan.columns : [],
    ..."order" in plan ? plan.order.map(({ column }) => column) : [],
    ..."metrics" in plan
      ? [...plan.keys, ...plan.metrics].flatMap(({ column }) => column ?? [])
      : [],
  ];
  const withUsed = (table: TableInfo): TableInfo => {
    if (!table.functionColumns.some((column) => used.includes(column))) return table;
    const facts = { rows: rowsWithFunctions(table, used) };
    return { ...table, ...facts };
  };
  const toUsed = (relation: Relation): Relation => {
    const { steps: [first, second] } = relation;
    const last = second ?? first;
    const step = { ...last, table: withUsed(last.table) };
    return { ...relation, steps: second === undefined ? [step] : [first, step] };
  };
  if (plan.kind === "related") return { ...plan, relation: toUsed(plan.relation) };
  const table = withUsed(plan.table);
  if (plan.kind !== "aggregate" || plan.relatedTo === undefined) return { ...plan, table };
  const relatedTo = { ...plan.relatedTo, relation: toUsed(plan.relatedTo.relation) };
  return { ...plan, table, relatedTo };
}

/** Returns the table. For computed columns in `used`, returns a subquery that can use indexes. */
export function rowsWithFunctions(table: TableInfo, used: readonly ColumnInfo[]): Fragment {
  const { rows = tableName(table) }: Parameters<typeof tableName>[0] = table;
  const row = identifier("_row");
  const computed = table.functionColumns.flatMap((column) => {
    const { rowFunction, dbName } = column;
    if (rowFunction === undefined || !used.includes(column)) return [];
    // Without `.*`, the function's argument could be a column called `_row` instead of the row.
    return sql`${tableName(rowFunction)}(${row}.*) AS ${identifier(dbName)}`;
  });
  if (computed.length === 0) return rows;
  return sql`(SELECT ${row}.*, ${join(computed, ", ")} FROM ${rows} AS ${row})`;
}
