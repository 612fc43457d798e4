import { engineOf } from "../../db/engine/engine.ts";
import {
  type FilesRun,
  filesToUndo,
  migrateFiles,
  pendingFiles,
  recordFiles,
  undoFiles,
  undoneBy,
} from "../../db/migrations/files/migrate_files.ts";
import {
  migrateTables,
  type MigrationRun,
  requireAllowed,
} from "../../db/migrations/migrate_tables.ts";
import type { MigrationPlan, PossibleRename } from "../../db/migrations/migration_plan.ts";
import { systemRuntime } from "../../runtime/system_runtime.ts";
import { createTableInfo, type TableInfo } from "../../schema/table_info.ts";
import { Misuse } from "../command_options.ts";
import { printableLines } from "../printable.ts";
import type { MigrateCommand } from "./migrate_arguments.ts";
import { titleOf, writePlan } from "./written_files.ts";
import type { Database } from "../../db/database.ts";
import type { MigrationFile } from "../../db/migrations/files/migration_files.ts";
import { isDrizzleDatabase } from "../../db/drizzle/drizzle_database.ts";
import { openDatabase } from "../../engines/open_database.ts";
import { isDrizzleTable } from "../../schema/drizzle/drizzle_structure.ts";
import { isTableInfo, tableInfoKey, tableInfoOf, type TableLike } from "../../schema/table_like.ts";
import type { ResourceDefinition } from "../../resource/define/resource_definition.ts";
import { importModule, requireConfiguration } from "../configuration_file.ts";
import { urlOfDatabaseToMigrate } from "../database/resolve_database_url.ts";

export async function runMigrateCommand(command: MigrateCommand): Promise<number> {
  const opened = await openMigrated(command);
  try {
    const isTerminal = Deno.stdin.isTerminal() && Deno.stdout.isTerminal();
    await migrateDatabase(command, opened, {
      print: (line, value) =>
        console.log(command.json ? JSON.stringify(value) : printableLines(line)),
      ask: isTerminal && !command.json ? (question) => confirm(printableLines(question)) : null,
    });
    return 0;
  } finally {
    await opened.db.close();
  }
}

/** Prints a migration, then runs it or writes it to files. Throws if the user does not agree. */
export async function migrateDatabase(
  command: MigrateCommand,
  { db, tables }: DatabaseToMigrate,
  dialogue: MigrateTerminal,
): Promise<void> {
  const { check, migrations: folder, write } = command;
  if (folder !== null && write === null && !check) {
    return await migrateByFiles(command, { db, folder }, dialogue);
  }
  if (tables.length === 0) {
    throw new Error(
      "Cannot migrate: no table is declared by table(); those of Drizzle are migrated by drizzle-kit",
    );
  }
  const { random } = systemRuntime(() => {});
  if (folder !== null) await prepareFiles({ driver: db.driver, folder, random }, check);
  const { allowDrop, keep } = command;
  let run: MigrationRun = {
    ...{ driver: db.driver, tables, random, allowDrop, keep },
    ...{ dryRun: true, agreed: null },
  };
  let plan = await migrateTables(run);
  if (dialogue.ask !== null && !command.dryRun && !check && plan.questions.length > 0) {
    run = answered(run, plan.questions, dialogue.ask);
    plan = await migrateTables(run);
  }
  if (check) return requireSame(plan, folder ?? db.label, dialogue);
  show(plan, db, dialogue);
  requireAllowed(plan);
  if (plan.steps.length === 0 || command.dryRun) return;
  if (folder !== null) {
    const written = await writePlan(plan, { db, folder, name: write ?? "" });
    return dialogue.print(`Written: ${written.join(", ")}. Review and commit, then run them.`, {
      written,
    });
  }
  requireYes(command, dialogue, `Run ${counted(plan.steps.length, "statement")}?`);
  const { isApplied } = await migrateTables({ ...run, dryRun: false, agreed: plan });
  dialogue.print(isApplied ? "Done." : "Another process has done it.", { isApplied });
}

/** If `check`, runs all files in an empty database. Otherwise throws if a file has not run. */
async function prepareFiles(run: FilesRun, check: boolean): Promise<void> {
  const { driver, folder } = run;
  if (check) {
    const [table] = (await engineOf(driver).catalog.introspect(driver, {})).tables;
    if (table !== undefined) {
      throw new Error(
        `Cannot check ${folder} in ${driver.label}, which has the table ${table.label}: --check ` +
          "runs all files, so name an empty database, for example sqlite::memory:",
      );
    }
    await migrateFiles(run);
    return;
  }
  const [{ name } = { name: null }] = (await pendingFiles(run)).pending;
  if (name === null) return;
  throw new Error(`Cannot write a file: ${driver.label} lacks ${name}: run the files first`);
}

function requireSame(
  { differences, steps, refusals }: MigrationPlan,
  place: string,
  { print }: MigrateTerminal,
): void {
  if (steps.length === 0 && refusals.length === 0) {
    return print(`${place}: no difference.`, { differences });
  }
  const listed = differences.map((one) => `- ${one}`).join("\n");
  throw new Error(`${place} differs from the declared tables:\n${listed}`);
}

/** Asks if columns were renamed. Without confirmation of a rename, the old column stays. */
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
    print(`${label} is as its tables are declared.`, { differences: [] });
  }
  // Prints no statements of a refused migration, because the user might run them by hand.
  for (const step of plan.refusals.length === 0 ? plan.steps : []) {
    print(`-- ${titleOf(step)}\n${step.sql};`, { title: titleOf(step), sql: step.sql });
  }
  for (const notice of plan.left) print(`-- ${notice}`, { notice });
}

interface MigrateTerminal {
  /** Prints a line, or the value as JSON. */
  readonly print: (line: string, value: object) => void;
  /** Asks the user a question, and returns true for "yes". Null without a terminal. */
  readonly ask: ((question: string) => boolean) | null;
}

async function migrateByFiles(
  command: MigrateCommand,
  { db, folder }: { readonly db: Database; readonly folder: string },
  dialogue: MigrateTerminal,
): Promise<void> {
  const { baseline, resume, down } = command;
  const { random } = systemRuntime(() => {});
  const run: FilesRun = { driver: db.driver, folder, random, resume };
  if (down !== null) return await undo(command, run, dialogue);
  const { pending, begun, unknown } = await pendingFiles(run);
  for (const unknownFile of unknown) {
    dialogue.print(`-- ${unknownFile} was applied, and is not in ${folder}`, { unknownFile });
  }
  pending.forEach((file) => showFile(file, dialogue, begun.get(file.name) ?? null));
  if (pending.length === 0) {
    dialogue.print(`${db.label} has every migration of ${folder}.`, { applied: [] });
  }
  if (pending.length === 0 || command.dryRun) return;
  const files = counted(pending.length, "file");
  requireYes(
    command,
    dialogue,
    baseline ? `Note ${files} as applied, and run none?` : `Run ${files}?`,
  );
  const done = baseline ? await recordFiles(run) : await migrateFiles(run);
  const line = done.length === 0 ? "Another process has done it." : `Done: ${done.join(", ")}`;
  dialogue.print(line, { applied: done });
}

async function undo(
  command: MigrateCommand,
  run: FilesRun,
  dialogue: MigrateTerminal,
): Promise<void> {
  const undone = await filesToUndo(run, command.down ?? 0);
  for (const file of undone) showFile(file, dialogue);
  if (undone.length === 0) {
    dialogue.print(`${run.driver.label} has no applied file to undo.`, { undone });
  }
  if (undone.length === 0 || command.dryRun) return;
  requireYes(command, dialogue, `Undo ${counted(undone.length, "file")}?`);
  await undoFiles(run, undone, command.allowDrop);
  const names = undone.map(undoneBy);
  dialogue.print(`Undone: ${names.join(", ")}`, { undone: names });
}

function showFile(
  { name, statements }: MigrationFile,
  { print }: MigrateTerminal,
  done: number | null = null,
): void {
  const state = done === null ? "" : ` (${done} of ${statements.length} statements have run)`;
  print(`-- ${name}${state}\n${statements.map((statement) => `${statement};`).join("\n")}`, {
    file: name,
    statements,
    done: done ?? 0,
  });
}

function requireYes({ yes }: MigrateCommand, { ask }: MigrateTerminal, question: string): void {
  if (yes) return;
  if (ask === null) throw new Error("Cannot ask for a yes without a terminal: add --yes");
  if (!ask(question)) throw new Error("Nothing was changed.");
}

function counted(count: number, noun: string): string {
  return `${count} ${noun}${count === 1 ? "" : "s"}`;
}

interface DatabaseToMigrate {
  readonly db: Database;
  readonly tables: readonly TableInfo[];
}

export async function openMigrated(command: MigrateCommand): Promise<DatabaseToMigrate> {
  const { database, tables, migrations, write, check } = command;
  const isByFiles = migrations !== null && write === null && !check;
  const exported = tables === null ? null : await exportedTables(tables);
  const declared = exported ?? (isByFiles ? [] : null);
  if (database !== null && declared !== null) {
    return { db: await openNamed(database, command), tables: declared };
  }
  const { db: given, resources } = await requireConfiguration(
    command.config,
    "name it by --config FILE, or the tables by migrate DATABASE --tables FILE",
  );
  const all = exported ?? configuredTables(given, resources);
  if (database !== null) return { db: await openNamed(database, command), tables: all };
  return { db: isDrizzleDatabase(given) ? await openDatabase(given) : given, tables: all };
}

async function openNamed(
  database: string,
  { dryRun, check, write, migrations, additions = {} }: MigrateCommand,
): Promise<Database> {
  const onlyReads = dryRun || write !== null || (check && migrations === null);
  const url = await urlOfDatabaseToMigrate(database, onlyReads);
  // Opening for writing would change the journal mode, so a command that reads opens read-only.
  const readOnly = onlyReads && /^(?:node-)?sqlite:(?!:memory:)/i.test(url);
  return await openDatabase(url, { ...additions, readOnly });
}

export function configuredTables(
  db: unknown,
  resources: readonly ResourceDefinition[],
): readonly TableInfo[] {
  const served = resources.filter(({ options }) => [undefined, db].includes(options.db));
  const tables = served.flatMap(({ table, options: { relations = {} } }) => [
    table,
    ...Object.values(relations).flatMap(({ through }) => through ?? []),
  ]);
  const described = tables.map((table) => isTableInfo(table) ? table : tableInfoOf(table));
  return [...new Set(described)].filter(({ own }) => own);
}

async function exportedTables(path: string): Promise<readonly TableInfo[]> {
  const exported = await importModule(path);
  const values: unknown[] = Object.values(exported).flat();
  const found = new Set(values.filter(isTable).map(tableInfoOf));
  if (found.size > 0) return [...found];
  if (values.some(isOfDrizzle)) {
    throw new Error(
      `Cannot migrate the tables of ${path}: they were made by Drizzle, whose migrations create ` +
        "them: run drizzle-kit",
    );
  }
  throw new Misuse(`Cannot migrate: ${path} exports no table`);
}

function isOfDrizzle(value: unknown): boolean {
  return typeof value === "object" && value !== null && isDrizzleTable(value);
}

function isTable(value: unknown): value is TableLike<unknown, unknown> {
  // A column also has the member `tableInfoKey`, but only a table has no prototype.
  return typeof value === "object" && value !== null && tableInfoKey in value &&
    Object.getPrototypeOf(value) === null;
}
