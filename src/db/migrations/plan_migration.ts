import { sqlName } from "../../sql/fragment.ts";
import type { TableInfo } from "../../schema/table_info.ts";
import type { Dialect } from "../../sql/dialect.ts";
import { inCreationOrder } from "../../sql/create_table.ts";
import type { Connection } from "../driver.ts";
import { requireCreatable } from "../tables/require_creatable.ts";
import { type PairedTable, pairTables } from "./compare/compare_tables.ts";
import { describeDifference, type Difference } from "./compare/difference.ts";
import type { ColumnShape, TableShape } from "./compare/table_shape.ts";
import { findDifferences } from "./find_differences.ts";
import type { MigrationPlan, MigrationRights } from "./migration_plan.ts";
import { dropSteps, referrers, tablesToDrop, unknownNames } from "./plan/tables_to_drop.ts";
import { addRowObstacles } from "./plan/row_guards.ts";
import { missingIndexNames, type PlanContext, TableMigration } from "./plan/table_migration.ts";
import { engineOf } from "../engine/engine_of.ts";
import type { PlanningFacts } from "../engine/migration_facts.ts";

export interface PlannedMigration {
  readonly plan: MigrationPlan;
  /** The declared tables that exist. */
  readonly pairs: readonly PairedTable[];
  readonly differences: readonly Difference[];
}

/** Plans the migration of a database, and changes nothing. Postgres needs it in a transaction. */
export async function planMigration(
  connection: Connection,
  dialect: Dialect,
  tables: readonly TableInfo[],
  rights: MigrationRights,
): Promise<PlannedMigration> {
  const engine = engineOf({ dialect });
  requireCreatable(tables, engine.catalog);
  const { comparison, planning } = await engine.migrations();
  const dropped = await tablesToDrop(connection, comparison, tables, rights);
  const { declared, existing, differences } = await findDifferences(
    ...[connection, dialect, tables, dropped] as const,
  );
  const { pairs, missing } = pairTables(declared, existing);
  const context: PlanContext = {
    ...{ connection, planning, dialect, rights, differences },
    ...{ refusals: [], questions: [], left: [] },
  };
  const changes: TableMigration[] = [];
  for (const pair of pairs) {
    if (!differences.some(({ table }) => table === pair.table.label)) continue;
    const table = new TableMigration(pair, context, await hasRows(pair, connection));
    reportUnused(table);
    await addRowObstacles(table, existing.tables);
    changes.push(table);
  }
  const created = inCreationOrder(tables).flatMap((table) =>
    missing.flatMap((one) => one.table === table ? [one.shape] : [])
  );
  const steps = await planning.steps(connection, changes, created);
  const { refusals, questions, left } = context;
  left.push(...unknownNames(rights, tables, dropped), ...conflictingTables(pairs, existing.tables));
  refusals.push(...await referrers(connection, planning, tables, dropped));
  const plan = {
    ...{ differences: differences.map(describeDifference), refusals, questions, left },
    steps: [...steps, ...dropSteps(planning, dropped)].map((step) => ({
      ...step,
      lock: planning.lockOf(step.sql),
    })),
  };
  return { plan, pairs, differences };
}

async function hasRows({ existing }: PairedTable, connection: Connection): Promise<boolean> {
  const text = `SELECT 1 FROM ${sqlName(existing)} LIMIT 1`;
  return (await connection.query({ text, values: [] })).rows.length > 0;
}

/** Returns a notice for each table of which the database has both the former and the new name. */
function conflictingTables(
  pairs: readonly PairedTable[],
  existing: readonly TableShape[],
): readonly string[] {
  return pairs.flatMap(({ table: { schema, name, formerName } }) => {
    if (
      formerName === null || !existing.some((one) => one.schema === schema && one.name === name)
    ) {
      return [];
    }
    const hasBoth = existing.some((one) => one.schema === schema && one.name === formerName) &&
      !pairs.some(({ existing: { name }, table }) =>
        name === formerName || table.name === formerName
      );
    return hasBoth
      ? [`${name} was ${formerName} before, and both are there: their rows are not merged`]
      : [];
  });
}

/** Reports kept columns and indexes. A column that may have been renamed needs a decision. */
function reportUnused(table: TableMigration): void {
  const added = table.of("missing-column").map(({ declared }) => declared);
  for (const { existing } of table.of("superfluous-column")) {
    const { name } = existing;
    if (table.mayLose(name)) continue;
    const place = `${table.label}.${name}`;
    const candidate = added.find((one) => isSameKind(one, existing, table.planning));
    if (candidate !== undefined && !table.isKept(name)) {
      table.ask({ table: table.label, from: name, to: candidate.name });
      table.refuse(
        `${place} is not declared any more, and ${table.label}.${candidate.name} of the same type is new: ` +
          `is it a rename? Then declare .was(${JSON.stringify(name)}); if not, ` +
          `--allow-drop ${place} drops it, and --keep ${place} leaves it`,
      );
    } else table.leave(`${place} is not declared and stays: --allow-drop ${place} drops it`);
  }
  for (const { from, to } of table.conflictingRenames) {
    const place = `${table.label}.${from}`;
    if (table.mayLose(from) || table.isKept(from)) continue;
    table.refuse(
      `${table.label}.${to} was ${from} before, and the table has both: drop the wrong one by a ` +
        `statement, or leave ${place} as it is by --keep ${place}`,
    );
  }
  const replaced = missingIndexNames(table);
  for (const { existing: { name } } of table.of("superfluous-index")) {
    const place = `${table.label}.${name}`;
    if (table.mayLose(name) || replaced.has(name)) continue;
    table.leave(`the index ${name} is not declared and stays: --allow-drop ${place} drops it`);
  }
}

function isSameKind(
  left: ColumnShape,
  right: ColumnShape,
  { mayBeRename }: PlanningFacts,
): boolean {
  return left.generated === null && right.generated === null && mayBeRename(left.type, right.type);
}
