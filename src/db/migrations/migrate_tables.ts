import type { Random } from "../../runtime/runtime.ts";
import type { TableInfo } from "../../schema/table_info.ts";
import { DatabaseError, fullReasonOf, isLastingError } from "../database_error.ts";
import type { Connection, Driver } from "../driver.ts";
import { engineOf } from "../engine/engine_of.ts";
import { recordMigration } from "./applied_migrations.ts";
import { describeDifference } from "./compare/difference.ts";
import { findDifferences } from "./find_differences.ts";
import type { MigrationPlan, MigrationRights, MigrationStep } from "./migration_plan.ts";
import { planMigration } from "./plan_migration.ts";
import { readTriggeredRecordings, restoreRecording } from "./restore_recording.ts";

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
  /** The plan that the operator has accepted. If the plan has changed since, no statement runs. */
  readonly agreed: MigrationPlan | null;
}

/**
 * Changes a database in one transaction until its tables match the declarations. If several
 * processes start together, only one migrates, because each compares again in its transaction.
 * Throws an Error with all obstacles.
 */
export async function migrateTables(run: MigrationRun): Promise<Migration> {
  for (let tries = 1;; tries++) {
    try {
      return await migrateOnce(run);
    } catch (error) {
      // If two processes alter tables and wait for each other, Postgres aborts one transaction.
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
  // At most starts there is nothing to migrate, so no lock is needed.
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
    // Another process can alter tables between two queries. `restructure` excludes other processes.
    return await running.restructure(driver, plan);
  }
}

/** Throws an Error with the reasons for which a plan is refused, if there are any. */
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

/** Runs a step. If it fails, the error contains the database's reason, which the operator needs. */
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

/** Throws an Error if the tables still differ from the declarations, which causes a rollback. */
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
