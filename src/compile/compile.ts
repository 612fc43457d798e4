import type {
  Assignments,
  CountPlan,
  DeletePlan,
  InsertPlan,
  Plan,
  ReadPlan,
  UpdatePlan,
} from "../plan/plan.ts";
import type { ColumnInfo, TableInfo } from "../schema/table_info.ts";
import type { Dialect } from "../sql/dialect.ts";
import {
  type Fragment,
  identifier,
  join,
  rawSql,
  sql,
  type Statement,
  toStatement,
} from "../sql/fragment.ts";
import { compileOrder, compileSeek } from "./order.ts";
import { compileFilter } from "./where.ts";

/** A plan → the statement that does it, for any engine. */
export function compile(plan: Plan, dialect: Dialect): Statement {
  return toStatement(compilePlan(plan, dialect), dialect.placeholder);
}

function compilePlan(plan: Plan, dialect: Dialect): Fragment {
  switch (plan.kind) {
    case "read":
      return compileRead(plan, dialect);
    case "count":
      return compileCount(plan, dialect);
    case "insert":
      return compileInsert(plan, dialect);
    case "update":
      return compileUpdate(plan, dialect);
    case "delete":
      return compileDelete(plan, dialect);
    default: {
      const never: never = plan;
      return never;
    }
  }
}

function compileRead(plan: ReadPlan, dialect: Dialect): Fragment {
  const conditions: Fragment[] = [];
  if (plan.where.kind !== "all") conditions.push(compileFilter(plan.where, dialect));
  if (plan.after !== null) conditions.push(compileSeek(plan.order, plan.after, dialect));
  const where = conditions.length === 0 ? rawSql("") : sql` WHERE ${join(conditions, " AND ")}`;
  const order = plan.order.length === 0
    ? rawSql("")
    : sql` ORDER BY ${compileOrder(plan.order, dialect)}`;
  const columns = selectList(plan.columns, dialect);
  return sql`SELECT ${columns} FROM ${tableName(plan.table)}${where}${order} LIMIT ${plan.limit}`;
}

function compileCount(plan: CountPlan, dialect: Dialect): Fragment {
  const where = compileFilter(plan.where, dialect);
  return sql`SELECT count(*) FROM ${tableName(plan.table)} WHERE ${where}`;
}

function compileInsert(plan: InsertPlan, dialect: Dialect): Fragment {
  const entries = [...plan.values];
  const columns = join(entries.map(([column]) => identifier(column.dbName)), ", ");
  const values = join(
    entries.map(([column, value]) => sql`${dialect.encode(value, column)}`),
    ", ",
  );
  const row = entries.length === 0
    ? rawSql("DEFAULT VALUES")
    : sql`(${columns}) VALUES (${values})`;
  return sql`INSERT INTO ${tableName(plan.table)} ${row}${returning(plan.returning, dialect)}`;
}

function compileUpdate(plan: UpdatePlan, dialect: Dialect): Fragment {
  const where = compileFilter(plan.where, dialect);
  const set = compileAssignments(plan.set, dialect);
  const result = returning(plan.returning, dialect);
  return sql`UPDATE ${tableName(plan.table)} SET ${set} WHERE ${where}${result}`;
}

function compileDelete(plan: DeletePlan, dialect: Dialect): Fragment {
  return sql`DELETE FROM ${tableName(plan.table)} WHERE ${compileFilter(plan.where, dialect)}`;
}

function compileAssignments(set: Assignments, dialect: Dialect): Fragment {
  const assignments = [...set].map(([column, value]) =>
    sql`${identifier(column.dbName)} = ${dialect.encode(value, column)}`
  );
  return join(assignments, ", ");
}

function returning(columns: readonly ColumnInfo[], dialect: Dialect): Fragment {
  return columns.length === 0 ? rawSql("") : sql` RETURNING ${selectList(columns, dialect)}`;
}

function selectList(columns: readonly ColumnInfo[], dialect: Dialect): Fragment {
  return join(columns.map((column) => dialect.selected(column)), ", ");
}

function tableName(table: TableInfo): Fragment {
  return table.schema === null
    ? identifier(table.name)
    : sql`${identifier(table.schema)}.${identifier(table.name)}`;
}
