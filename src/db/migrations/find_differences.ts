import type { TableInfo } from "../../schema/table_info.ts";
import type { Dialect } from "../../sql/dialect.ts";
import type { Connection } from "../driver.ts";
import { engineOf } from "../engine/engine.ts";
import { compareTables, type DeclaredTable } from "./compare/compare_tables.ts";
import { declaredTables } from "./compare/declared_tables.ts";
import type { Difference } from "./compare/difference.ts";
import type { ExistingShapes, TableName } from "./compare/table_shape.ts";

export interface TableComparison {
  readonly declared: readonly DeclaredTable[];
  readonly existing: ExistingShapes;
  readonly differences: readonly Difference[];
}

/**
 * Compares declared tables with a database in a transaction, and changes nothing. `dropped` are
 * tables that the migration drops. Postgres can require the right to create temporary tables.
 */
export async function findDifferences(
  connection: Connection,
  dialect: Dialect,
  tables: readonly TableInfo[],
  dropped: readonly TableName[] = [],
): Promise<TableComparison> {
  const { comparison } = await engineOf({ dialect }).migrations();
  const declared = declaredTables(tables, dialect, comparison);
  const existing = await comparison.shapes(connection, tables.flatMap(tableNames));
  const differences = compareTables(declared, existing, comparison, dropped);
  const unsure = new Set(differences.filter(mayBeSame).map(({ table }) => table));
  if (comparison.written === null || unsure.size === 0) return { declared, existing, differences };
  const isUnsure = ({ table }: DeclaredTable) => unsure.has(table.label);
  const written = await comparison.written(connection, declared.filter(isUnsure));
  const whole = declared.map((one) => written.find(({ table }) => table === one.table) ?? one);
  return {
    declared: whole,
    existing,
    differences: compareTables(whole, existing, comparison, dropped),
  };
}

/** Returns the names that a table can have in the database: its current and its former name. */
export function tableNames({ schema, name, formerName }: TableInfo) {
  return [name, ...(formerName === null ? [] : [formerName])].map((name) => ({ schema, name }));
}

/** Returns true if a difference is only of two expressions that can have the same meaning. */
export function mayBeSame(difference: Difference): boolean {
  switch (difference.kind) {
    case "default":
    case "generated":
      return difference.declared !== null && difference.existing !== null;
    case "missing-check":
      return true;
    case "missing-index":
      return difference.declared.where !== null;
    case "members":
      return difference.existing === null;
    default:
      return false;
  }
}
