import type { Random } from "../../runtime/runtime.ts";
import type { TableInfo } from "../../schema/table_info.ts";
import { DatabaseError, fullReasonOf, isLastingError } from "../database_error.ts";
import type { Connection, Driver } from "../driver.ts";
import { engineOf } from "../engine/engine.ts";
import { recordMigration } from "./applied_migrations.ts";
import { describeDifference, type Difference } from "./compare/difference.ts";
import type { MigrationPlan, MigrationRights, MigrationStep } from "./migration_plan.ts";
import { readTriggeredRecordings, restoreRecording } from "./restore_recording.ts";
import { sqlName } from "../../sql/fragment.ts";
import type { Dialect } from "../../sql/dialect.ts";
import { inCreationOrder } from "../../sql/create_table.ts";
import { requireCreatable } from "../tables/create_tables.ts";
import {
  compareTables,
  type DeclaredTable,
  type PairedTable,
  pairTables,
} from "./compare/compare_tables.ts";
import type { TableName, TableShape } from "./compare/table_shape.ts";
import { dropSteps, referrers, tablesToDrop, unknownNames } from "./plan/tables_to_drop.ts";
import { addRowObstacles } from "./plan/row_guards.ts";
import { missingIndexNames, type PlanContext, TableMigration } from "./plan/table_migration.ts";
import { declaredTables } from "./compare/declared_tables.ts";

/** The plan of a migration, and its result. */
export interface Migration extends MigrationPlan {
  /** True if the steps were run. False for an empty plan and for a dry run. */
  readonly isApplied: boolean;
}

export interface MigrationRun extends MigrationRights {
  readonly driver: Driver;
  readonly tables: readonly TableInfo[];
  readonly random: Random;
  readonly dryRun: boolean;
  /** The plan that the operator has accepted: no other step may run. Null to run any plan. */
  readonly agreed: MigrationPlan | null;
}

/** Migrates a database in one transaction. Throws an Error that lists all obstacles. */
export async function migrateTables(run: MigrationRun): Promise<Migration> {
  for (let tries = 1;; tries++) {
    try {
      return await migrateOnce(run);
    } catch (error) {
      // If two migrations wait for each other, Postgres aborts one, which is then retried here.
      const isRetryable = error instanceof DatabaseError && error.kind === "retryable";
      if (!isRetryable || tries === maxTries) throw error;
    }
  }
}

const maxTries = 5;

async function migrateOnce(run: MigrationRun): Promise<Migration> {
  const { driver } = run;
  const shown = await showPlan(run);
  if (run.dryRun) return { ...shown, isApplied: false };
  requireAllowed(shown);
  // Usually, a starting service has nothing to migrate. Then the service takes no lock.
  if (shown.steps.length === 0) return { ...shown, isApplied: false };
  const { running } = await engineOf(driver).migrations();
  return await running.restructure(driver, (connection) => apply(run, connection));
}

async function showPlan(run: MigrationRun): Promise<MigrationPlan> {
  const { driver, tables } = run;
  const { running } = await engineOf(driver).migrations();
  const plan = async (connection: Connection) =>
    (await planMigration(connection, driver.dialect, tables, run)).plan;
  try {
    return await running.compare(driver, plan);
  } catch (error) {
    if (!(error instanceof DatabaseError)) throw error;
    // `compare` can fail if another process alters tables. `restructure` excludes other migrations.
    return await running.restructure(driver, plan);
  }
}

export function requireAllowed({ refusals }: MigrationPlan): void {
  if (refusals.length === 0) return;
  throw new Error(`Cannot migrate:\n${refusals.map((one) => `- ${one}`).join("\n")}`);
}

async function apply(run: MigrationRun, connection: Connection): Promise<Migration> {
  const { driver: { dialect }, tables } = run;
  const { plan, pairs, differences } = await planMigration(connection, dialect, tables, run);
  requireAllowed(plan);
  if (plan.steps.length === 0) return { ...plan, isApplied: false };
  requireAgreed(plan, run.agreed);
  const recording = await readTriggeredRecordings(connection, dialect, pairs);
  const check = await (await engineOf({ dialect }).migrations()).running.integrity(connection);
  for (const step of plan.steps) await runStep(step, connection);
  await check(tables);
  await restoreRecording(connection, run, { recording, differences });
  await requireDone(run, connection);
  await recordMigration(connection, {
    name: "declared tables",
    sql: plan.steps.map(({ sql }) => `${sql};\n`).join(""),
  });
  return { ...plan, isApplied: true };
}

async function runStep({ sql, purpose }: MigrationStep, connection: Connection): Promise<void> {
  try {
    await connection.query({ text: sql, values: [] });
  } catch (cause) {
    if (!isLastingError(cause)) throw cause;
    throw new Error(`Cannot migrate: ${purpose}: ${fullReasonOf(cause)}\n${sql}`, { cause });
  }
}

function requireAgreed({ steps }: MigrationPlan, agreed: MigrationPlan | null): void {
  const known = agreed === null ? null : new Set(agreed.steps.map(({ sql }) => sql));
  if (known === null || steps.every(({ sql }) => known.has(sql))) return;
  throw new Error(
    "Cannot migrate: the database is not what it was when the plan was shown; run it again",
  );
}

/** Throws an Error to roll back the migration if the tables still differ from the declarations. */
async function requireDone(run: MigrationRun, connection: Connection): Promise<void> {
  const { driver: { dialect }, tables } = run;
  const { differences } = await findDifferences(connection, dialect, tables);
  const open = differences.filter(({ kind }) =>
    kind !== "superfluous-column" && kind !== "superfluous-index"
  );
  if (open.length === 0) return;
  const listed = open.map((one) => `- ${describeDifference(one)}`).join("\n");
  throw new Error(`Cannot migrate: after all statements it would still differ:\n${listed}`);
}

/** Plans a migration without changes of tables. On Postgres, requires an open transaction. */
async function planMigration(
  connection: Connection,
  dialect: Dialect,
  tables: readonly TableInfo[],
  rights: MigrationRights,
) {
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

/** Reports undeclared columns and indexes. Refuses a possible rename until the operator decides. */
function reportUnused(table: TableMigration): void {
  const added = table.of("missing-column").map(({ declared }) => declared);
  for (const { existing } of table.of("superfluous-column")) {
    const { name } = existing;
    if (table.mayLose(name)) continue;
    const place = `${table.label}.${name}`;
    const candidate = added.find((one) =>
      one.generated === null && existing.generated === null &&
      table.planning.mayBeRename(one.type, existing.type)
    );
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

/** Compares tables in a transaction. On Postgres, the role may need to create temporary tables. */
export async function findDifferences(
  connection: Connection,
  dialect: Dialect,
  tables: readonly TableInfo[],
  dropped: readonly TableName[] = [],
) {
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

export function tableNames({ schema, name, formerName }: TableInfo) {
  return [name, ...(formerName === null ? [] : [formerName])].map((name) => ({ schema, name }));
}

/** Returns true if only expressions differ, and the two expressions can have the same meaning. */
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
