import type { TableInfo } from "../../schema/table_info.ts";
import { DatabaseError } from "../database_error.ts";
import type { Driver } from "../driver.ts";
import { engineOf } from "../engine/engine.ts";
import { compareTables } from "../migrations/compare/compare_tables.ts";
import { declaredTables } from "../migrations/compare/declared_tables.ts";
import { describeDifference, type Difference, mustFill } from "../migrations/compare/difference.ts";
import { findTable, isSameSet } from "../migrations/compare/table_shape.ts";
import { findDifferences, mayBeSame, tableNames } from "../migrations/migrate_tables.ts";

export interface NamedDifference {
  readonly table: string;
  readonly text: string;
}

export async function findDrift(driver: Driver, tables: readonly TableInfo[]) {
  const { dialect } = driver;
  const { comparison } = await engineOf(driver).migrations();
  const declared = declaredTables(tables, dialect, comparison);
  const existing = await comparison.shapes(driver, tables.flatMap(tableNames));
  const found = compareTables(declared, existing, comparison);
  const differences = found.some(mayBeSame) && comparison.written !== null
    ? await findSurely(driver, tables) ?? found.filter((one) => !mayBeSame(one))
    : found;
  const isFault = (one: Difference) => {
    const table = tables.find(({ label }) => label === one.table);
    const shape = table === undefined ? undefined : findTable(existing.tables, table);
    // These differences would make requests fail, or return wrong rows.
    switch (one.kind) {
      case "missing-table":
      case "renamed-table":
      case "missing-column":
      case "renamed-column":
        return true;
      case "key": {
        // If the declared key is not unique in the database, one write could change several rows.
        const isUnique = shape?.uniques.some(({ columns }) => isSameSet(columns, one.declared));
        return isUnique !== true;
      }
      case "type": {
        const { declared, existing } = one;
        return !engineOf(driver).catalog.canCompareTypes(declared, existing);
      }
      default:
        return false;
    }
  };
  const [faults, others] = [
    differences.filter(isFault),
    differences.filter((one) => !isFault(one)),
  ];
  return { faults: faults.map(named), notices: others.filter(isWorthSaying).map(named) };
}

/** Finds all differences. Compares expressions by creating temporary tables. Null if that fails. */
async function findSurely(
  driver: Driver,
  tables: readonly TableInfo[],
): Promise<readonly Difference[] | null> {
  try {
    const compare = () =>
      driver.transaction((connection) => findDifferences(connection, driver.dialect, tables));
    return (await compare()).differences;
  } catch (error) {
    if (error instanceof DatabaseError) return null;
    throw error;
  }
}

function named(difference: Difference): NamedDifference {
  return { table: difference.table, text: describeDifference(difference) };
}

/** Returns false for an additional index, or an additional column that an INSERT can omit. */
function isWorthSaying(difference: Difference): boolean {
  if (difference.kind === "superfluous-column") return mustFill(difference.existing);
  return difference.kind !== "superfluous-index";
}
