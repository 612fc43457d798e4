import {
  migrateFiles,
  pendingFiles,
  recordFiles,
} from "../../db/migrations/files/migrate_files.ts";
import {
  migrateTables,
  type MigrationRun,
  requireAllowed,
} from "../../db/migrations/migrate_tables.ts";
import type { MigrationPlan, PossibleRename } from "../../db/migrations/migration_plan.ts";
import { systemRuntime } from "../../runtime/system_runtime.ts";
import { createTableInfo, type TableInfo } from "../../schema/table_info.ts";
import { printableLines } from "../printable.ts";
import { reportFailure } from "../report_failure.ts";
import type { MigrateCommand } from "./migrate_arguments.ts";
import { type DatabaseToMigrate, openMigrated } from "./database_to_migrate.ts";
import type { Database } from "../../db/database.ts";

export interface MigrateTerminal {
  readonly print: (line: string) => void;
  /** Asks the user a yes/no question. Null without a terminal. */
  readonly ask: ((question: string) => boolean) | null;
}

/** Runs the command `migrate`, and returns the exit code. */
export async function runMigrateCommand(command: MigrateCommand): Promise<number> {
  let opened: DatabaseToMigrate | null = null;
  try {
    opened = await openMigrated(command);
    const isTerminal = Deno.stdin.isTerminal() && Deno.stdout.isTerminal();
    await migrateDatabase(command, opened, {
      print: (line) => console.log(printableLines(line)),
      ask: isTerminal ? (question) => confirm(printableLines(question)) : null,
    });
    return 0;
  } catch (error) {
    return reportFailure(error, 1);
  } finally {
    await opened?.db.close();
  }
}

/** Prints the migration, and runs it if the user agrees. Throws an Error otherwise. */
export async function migrateDatabase(
  command: MigrateCommand,
  { db, tables }: DatabaseToMigrate,
  dialogue: MigrateTerminal,
): Promise<void> {
  if (command.migrations !== null) {
    return await migrateByFiles(command, { db, folder: command.migrations }, dialogue);
  }
  if (tables.length === 0) {
    throw new Error(
      "Cannot migrate: no table is declared by table(); those of Drizzle are migrated by drizzle-kit",
    );
  }
  const { random } = systemRuntime(() => {});
  const { allowDrop, keep } = command;
  let run: MigrationRun = {
    ...{ driver: db.driver, tables, random, allowDrop, keep },
    ...{ dryRun: true, agreed: null },
  };
  let plan = await migrateTables(run);
  if (dialogue.ask !== null && !command.dryRun && plan.questions.length > 0) {
    run = answered(run, plan.questions, dialogue.ask);
    plan = await migrateTables(run);
  }
  show(plan, db, dialogue);
  requireAllowed(plan);
  if (plan.steps.length === 0 || command.dryRun) return;
  requireYes(command, dialogue, `Run ${counted(plan.steps.length, "statement")}?`);
  const { isApplied } = await migrateTables({ ...run, dryRun: false, agreed: plan });
  dialogue.print(isApplied ? "Done." : "Another process has done it.");
}

/** Asks if columns were renamed. If the user does not confirm this, columns are kept. */
function answered(
  run: MigrationRun,
  questions: readonly PossibleRename[],
  ask: (question: string) => boolean,
): MigrationRun {
  return questions.reduce((answered, { table, from, to }) => {
    const isRename = ask(`Is ${table}.${to} the column that was called ${from} so far?`);
    return isRename
      ? { ...answered, tables: answered.tables.map((one) => renamed(one, table, from, to)) }
      : { ...answered, keep: [...answered.keep, `${table}.${from}`] };
  }, run);
}

function renamed(info: TableInfo, table: string, from: string, to: string): TableInfo {
  if (info.label !== table) return info;
  const columns = info.columns.map((column) =>
    column.dbName === to ? { ...column, formerName: from } : column
  );
  const { name, schema, foreignKeys, indexes, uniques, checks, formerName, own } = info;
  const primaryKey = info.primaryKey.flatMap(({ dbName }) =>
    columns.find((column) => column.dbName === dbName) ?? []
  );
  return createTableInfo({
    ...{ name, schema, columns, primaryKey, own },
    ...{ foreignKeys, indexes, uniques, checks, formerName },
  });
}

function show(plan: MigrationPlan, { label }: Database, { print }: MigrateTerminal): void {
  if (plan.steps.length === 0 && plan.refusals.length === 0) {
    print(`${label} is as its tables are declared.`);
  }
  // The statements of a refused migration are not printed: the user might run them by hand.
  for (const { sql, purpose, loses } of plan.refusals.length === 0 ? plan.steps : []) {
    print(`-- ${purpose}${loses === null ? "" : `: VALUES OF ${loses} ARE LOST`}\n${sql};`);
  }
  for (const notice of plan.left) print(`-- ${notice}`);
}

function requireYes(
  { yes }: MigrateCommand,
  { ask }: MigrateTerminal,
  question: string,
): void {
  if (yes) return;
  if (ask === null) throw new Error("Cannot ask for a yes without a terminal: add --yes");
  if (!ask(question)) throw new Error("Nothing was changed.");
}

interface FilesOfDatabase {
  readonly db: Database;
  readonly folder: string;
}

async function migrateByFiles(
  command: MigrateCommand,
  { db, folder }: FilesOfDatabase,
  dialogue: MigrateTerminal,
): Promise<void> {
  const { random } = systemRuntime(() => {});
  const run = { driver: db.driver, folder, random };
  const { pending, unknown } = await pendingFiles(run);
  for (const name of unknown) dialogue.print(`-- ${name} was applied, and is not in ${folder}`);
  for (const { name, statements } of pending) {
    dialogue.print(`-- ${name}\n${statements.map((statement) => `${statement};`).join("\n")}`);
  }
  if (pending.length === 0) dialogue.print(`${db.label} has every migration of ${folder}.`);
  if (pending.length === 0 || command.dryRun) return;
  const { baseline } = command;
  const files = counted(pending.length, "file");
  requireYes(
    command,
    dialogue,
    baseline ? `Note ${files} as applied, and run none?` : `Run ${files}?`,
  );
  const done = baseline ? await recordFiles(run) : await migrateFiles(run);
  dialogue.print(done.length === 0 ? "Another process has done it." : `Done: ${done.join(", ")}`);
}

function counted(count: number, noun: string): string {
  return `${count} ${noun}${count === 1 ? "" : "s"}`;
}
