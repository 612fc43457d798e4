import {
  type CountPlan,
  databaseDefault,
  type DeletePlan,
  type EstimatePlan,
  incrementedValue,
  type InsertPlan,
  keepStoredValue,
  type Plan,
  type ReadPlan,
  type UpdatePlan,
} from "../plan/plan.ts";
import { unreachable } from "../problem/unreachable.ts";
import type { ColumnInfo, TableInfo } from "../schema/table_info.ts";
import type { Dialect } from "../sql/dialect.ts";
import {
  type Fragment,
  identifier,
  join,
  rawSql,
  sql,
  type SqlValue,
  type Statement,
  tableName,
  toStatement,
} from "../sql/fragment.ts";
import { compileAggregate } from "./aggregate.ts";
import {
  compileFilter,
  isOneRow,
  prependScanCheck,
  selectsByPrimaryKey,
  tableScanCheck,
  withFunctionColumns,
} from "./where.ts";
import { compileReadRows, compileSearchRows, type ReadContext } from "./read_rows.ts";
import { compileRelatedRows } from "./related_rows.ts";

/** A compiled statement with its plan, from which a driver can derive how rows change. */
export interface PlannedStatement extends Statement {
  readonly plan: Plan;
}

export type CompilePlan = (plan: Plan) => PlannedStatement;

/** Creates a compiler. `conflicting`: tables with ON CONFLICT clauses, which writes override. */
export function createCompiler(
  dialect: Dialect,
  conflicting: ReadonlySet<TableInfo> = new Set(),
): CompilePlan {
  const lists = new WeakMap<readonly ColumnInfo[], Fragment>();
  const checks = new WeakMap<TableInfo, Fragment | null>();
  const context: CompileContext = {
    dialect,
    conflicting,
    checkOf(table) {
      const known = checks.get(table);
      if (known !== undefined) return known;
      const check = tableScanCheck(table, dialect);
      checks.set(table, check);
      return check;
    },
    selectList(columns) {
      const list = lists.get(columns) ??
        join(columns.map((column) => dialect.selected(column)), ", ");
      lists.set(columns, list);
      return list;
    },
  };
  const byKey = new WeakMap<readonly ColumnInfo[], CachedStatement>();

  const { withoutEstimates = dialect } = dialect;
  const contextByKey = { ...context, dialect: withoutEstimates };

  function compile(plan: Plan): Statement {
    const isByKey = plan.kind === "read" && isOneRow(plan.where, plan.table);
    const fragment = compilePlan(plan, isByKey ? contextByKey : context);
    return toStatement(fragment, dialect.placeholder);
  }

  /** Compiles a read by key, the most frequent statement. Caches its SQL by the columns. */
  function compileByKey(plan: ReadPlan): Statement {
    const { texts, values } = compileFilter(plan.where, dialect);
    const known = byKey.get(plan.columns);
    const text = known?.where === texts ? known.text : compile(plan).text;
    if (text !== known?.text) byKey.set(plan.columns, { where: texts, text });
    return { text, values };
  }

  const compileWrite = cachingWrites(compile, dialect);

  return (plan) => {
    if (plan.kind === "insert" || plan.kind === "update") {
      const { text, values } = compileWrite(plan);
      return { text, values, plan };
    }
    if (readsByKey(plan)) {
      const { text, values } = compileByKey(plan);
      return { text, values, plan, isSingle: true };
    }
    const { text, values } = compile(plan);
    return readsOneRow(plan) ? { text, values, plan, isSingle: true } : { text, values, plan };
  };
}

/** Caches the SQL of writes by their columns, because it is slow to build. */
function cachingWrites(
  compile: (plan: InsertPlan | UpdatePlan) => Statement,
  dialect: Dialect,
): (plan: InsertPlan | UpdatePlan) => Statement {
  const tables = new WeakMap<TableInfo, CachedWrites>();
  return (plan) => {
    const { table, returning } = plan;
    // Conditions that select several rows have too many forms, so their SQL is not cached.
    if (plan.kind === "update" && !isOneRow(plan.where, table)) return compile(plan);
    const values: SqlValue[] = [];
    const key = bindCells(plan, dialect, values);
    if (key === null) return compile(plan);
    const where = plan.kind === "insert" ? noCondition : compileFilter(plan.where, dialect);
    const within = plan.within === undefined ? noCondition : compileFilter(plan.within, dialect);
    values.push(...where.values, ...within.values);
    const cached = tables.get(table) ?? { statements: new Map(), length: 0 };
    const known = cached.statements.get(key);
    const isKnown = known?.returning === returning && known.where === where.texts &&
      known.within === within.texts;
    if (isKnown) return { text: known.text, values };
    const { text, values: bound } = compile(plan);
    const length = cached.length + text.length - (known?.text.length ?? 0);
    // SQL is not cached if it also binds values of column defaults.
    if (bound.length === values.length && length <= maxWritesLength) {
      cached.statements.set(key, { where: where.texts, within: within.texts, returning, text });
      tables.set(table, { ...cached, length });
    }
    return { text, values: bound };
  };
}

/** Appends a write's values. Returns the cache key of its SQL, or null if it must not be cached. */
function bindCells(plan: InsertPlan | UpdatePlan, dialect: Dialect, values: SqlValue[]) {
  const rows = plan.kind === "insert" ? plan.rows : [plan.set];
  let key = `${plan.kind} ${rows.length} `;
  for (const row of rows) {
    for (const column of plan.kind === "insert" ? plan.columns : plan.set.keys()) {
      const value = row.get(column);
      let mark = "\0t";
      if (value === undefined || value === databaseDefault) mark = "\0d";
      else if (value === keepStoredValue) mark = "\0k";
      else if (value === incrementedValue) mark = "\0i";
      else values.push(dialect.encode(value, column));
      // Two appends, because one expression would copy the concatenated string for each column.
      if (row === rows[0]) {
        key += column.dbName;
        key += mark;
      } else if (mark !== "\0t") return null;
    }
  }
  return key;
}

const noCondition: Pick<Fragment, "texts" | "values"> = { texts: [], values: [] };

interface CachedWrites {
  readonly statements: Map<string, CachedWrite>;
  readonly length: number;
}

/** The maximum length of the cached writes of one table, in characters. */
const maxWritesLength = 400_000;

interface CachedWrite {
  readonly where: Fragment["texts"];
  readonly within: Fragment["texts"];
  readonly returning: readonly ColumnInfo[];
  readonly text: string;
}

interface CachedStatement {
  readonly where: Fragment["texts"];
  readonly text: string;
}

function readsByKey(plan: Plan): plan is ReadPlan {
  return plan.kind === "read" && plan.where.kind === "compare" && plan.added === undefined &&
    readsOneRow(plan);
}

function readsOneRow(plan: Plan): boolean {
  return plan.kind === "read" && plan.order.length === 0 && plan.after === null &&
    plan.limit === null && plan.lock === undefined && isOneRow(plan.where, plan.table);
}

interface CompileContext extends ReadContext {
  readonly conflicting: ReadonlySet<TableInfo>;
}

function compilePlan(given: Plan, context: CompileContext): Fragment {
  const { functionColumns } = given.kind === "related" ? given.relation.target : given.table;
  const plan = functionColumns.length === 0 ? given : withFunctionColumns(given);
  switch (plan.kind) {
    case "read":
      return compileReadRows(plan, context);
    case "related":
      return compileRelatedRows(plan, context.dialect);
    case "search":
      return compileSearchRows(plan, context.dialect, context.checkOf(plan.table));
    case "count":
      return compileCount(plan, context);
    case "estimate":
      return compileEstimate(plan, context);
    case "aggregate":
      return compileAggregate(plan, context.dialect, context.checkOf(plan.table));
    case "insert":
      return compileInsert(plan, context);
    case "update":
      return compileUpdate(plan, context);
    case "delete":
      return compileDelete(plan, context);
    default:
      return unreachable(plan);
  }
}

function compileCount(plan: CountPlan, context: ReadContext): Fragment {
  const where = compileChecked(plan, context);
  return sql`SELECT count(*) FROM ${tableName(plan.table)} WHERE ${where}`;
}

/** Compiles the WHERE condition of a count or a write, with a check that can stop a long scan. */
function compileChecked(
  { where, table }: CountPlan | UpdatePlan | DeletePlan,
  { dialect, checkOf }: ReadContext,
): Fragment {
  const condition = compileFilter(where, dialect);
  return selectsByPrimaryKey(where, table)
    ? condition
    : prependScanCheck(checkOf(table), condition);
}

function compileEstimate(plan: EstimatePlan, { dialect }: ReadContext): Fragment {
  if (dialect.estimate === null) throw new Error("Cannot estimate rows: this engine only counts");
  const where = compileFilter(plan.where, dialect);
  return dialect.estimate.statement(sql`SELECT 1 FROM ${tableName(plan.table)} WHERE ${where}`);
}

function compileInsert(plan: InsertPlan, context: CompileContext): Fragment {
  const rows = plan.columns.length === 0 ? rawSql("DEFAULT VALUES") : compileRows(plan, context);
  return sql`INSERT${orAbort(plan, context)} INTO ${tableName(plan.table)} ${rows}${
    returning(plan, context)
  }`;
}

/** Tables with ON CONFLICT need OR ABORT. Others omit it, as it overrides OR IGNORE in triggers. */
function orAbort({ table }: InsertPlan | UpdatePlan, { conflicting }: CompileContext): Fragment {
  return rawSql(conflicting.has(table) ? " OR ABORT" : "");
}

function compileRows({ columns, rows }: InsertPlan, { dialect }: ReadContext): Fragment {
  const names = join(columns.map((column) => identifier(column.dbName)), ", ");
  const values = rows.map((row) => {
    const cells = columns.map((column) =>
      row.has(column)
        ? compileValue(row.get(column), column, dialect)
        : dialect.columnDefault(column)
    );
    return sql`(${join(cells, ", ")})`;
  });
  return sql`(${names}) VALUES ${join(values, ", ")}`;
}

function compileUpdate(plan: UpdatePlan, context: CompileContext): Fragment {
  const { dialect } = context;
  const where = compileChecked(plan, context);
  const assignments = [...plan.set].map(([column, value]) => {
    const name = identifier(column.dbName);
    if (value === keepStoredValue) return sql`${name} = ${name}`;
    return value === incrementedValue
      ? sql`${name} = ${name} + 1`
      : sql`${name} = ${compileValue(value, column, dialect)}`;
  });
  const set = join(assignments, ", ");
  const result = returning(plan, context);
  return sql`UPDATE${orAbort(plan, context)} ${
    tableName(plan.table)
  } SET ${set} WHERE ${where}${result}`;
}

function compileDelete(plan: DeletePlan, context: ReadContext): Fragment {
  const where = compileChecked(plan, context);
  return sql`DELETE FROM ${tableName(plan.table)} WHERE ${where}${returning(plan, context)}`;
}

function compileValue(value: unknown, column: ColumnInfo, dialect: Dialect): Fragment {
  return value === databaseDefault
    ? dialect.columnDefault(column)
    : sql`${dialect.encode(value, column)}`;
}

function returning(
  { returning: columns, within }: Pick<InsertPlan, "returning" | "within">,
  { dialect, selectList }: ReadContext,
): Fragment {
  if (within !== undefined) {
    const { requireRow } = dialect;
    if (requireRow === null || columns.length === 0) throw new Error("Cannot require a scope here");
    const required = requireRow(compileFilter(within, dialect));
    return sql` RETURNING ${selectList(columns)}, ${required}`;
  }
  return columns.length === 0 ? rawSql("") : sql` RETURNING ${selectList(columns)}`;
}
