import type { OpenConfig } from "../../app/config.ts";
import { migrateTables } from "../../db/migrations/migrate_tables.ts";
import type { Runtime } from "../../runtime/runtime.ts";
import { programName } from "../../runtime/program_name.ts";
import { configuredTables } from "../migrate/run_migrate_command.ts";
import { titleOf } from "../migrate/written_files.ts";
import { printableLines } from "../printable.ts";

/** Runs a migration if each step adds something. Otherwise only prints the steps. */
export async function addTables({ db, resources }: OpenConfig, { random }: Runtime): Promise<void> {
  const tables = configuredTables(db, resources);
  if (tables.length === 0) return;
  const run = { driver: db.driver, tables, random, allowDrop: [], keep: [] };
  const plan = await migrateTables({ ...run, dryRun: true, agreed: null });
  const { steps, refusals } = plan;
  if (steps.length === 0 && refusals.length === 0) return;
  const isAddition = refusals.length === 0 && steps.every(({ sql }) => adding.test(sql));
  if (isAddition) await migrateTables({ ...run, dryRun: false, agreed: plan });
  const did = isAddition ? "Migrated" : "Not migrated";
  const lines = [...steps.map(titleOf), ...refusals].map((line) => `${did}: ${line}`);
  if (!isAddition) {
    lines.push(`To change the tables, run  ${programName()} migrate  and save a file`);
  }
  console.log(printableLines(lines.join("\n")));
}

const adding = /^(?:CREATE |ALTER TABLE \S+ ADD |ALTER TYPE \S+ ADD VALUE )/;
