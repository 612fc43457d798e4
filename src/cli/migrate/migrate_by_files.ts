import type { Database } from "../../db/database.ts";
import {
  type FilesRun,
  migrateFiles,
  pendingFiles,
  recordFiles,
} from "../../db/migrations/files/migrate_files.ts";
import { filesToUndo, undoFiles, undoneBy } from "../../db/migrations/files/undo_files.ts";
import type { MigrationFile } from "../../db/migrations/files/migration_files.ts";
import { systemRuntime } from "../../runtime/system_runtime.ts";
import type { MigrateCommand } from "./migrate_arguments.ts";

export interface MigrateTerminal {
  readonly print: (line: string) => void;
  /** Asks the user a yes/no question. Null without a terminal. */
  readonly ask: ((question: string) => boolean) | null;
}

/** Applies the SQL files of a folder, records them, or undoes applied ones. */
export async function migrateByFiles(
  command: MigrateCommand,
  { db, folder }: { readonly db: Database; readonly folder: string },
  dialogue: MigrateTerminal,
): Promise<void> {
  const { baseline, resume, down } = command;
  const { random } = systemRuntime(() => {});
  const run: FilesRun = { driver: db.driver, folder, random, resume };
  if (down !== null) return await undo(command, run, dialogue);
  const { pending, begun, unknown } = await pendingFiles(run);
  for (const name of unknown) dialogue.print(`-- ${name} was applied, and is not in ${folder}`);
  pending.forEach((file) => show(file, dialogue, begun.get(file.name) ?? null));
  if (pending.length === 0) dialogue.print(`${db.label} has every migration of ${folder}.`);
  if (pending.length === 0 || command.dryRun) return;
  const files = counted(pending.length, "file");
  requireYes(
    command,
    dialogue,
    baseline ? `Note ${files} as applied, and run none?` : `Run ${files}?`,
  );
  const done = baseline ? await recordFiles(run) : await migrateFiles(run);
  dialogue.print(done.length === 0 ? "Another process has done it." : `Done: ${done.join(", ")}`);
}

async function undo(
  command: MigrateCommand,
  run: FilesRun,
  dialogue: MigrateTerminal,
): Promise<void> {
  const undone = await filesToUndo(run, command.down ?? 0);
  for (const file of undone) show(file, dialogue);
  if (undone.length === 0) dialogue.print(`${run.driver.label} has no applied file to undo.`);
  if (undone.length === 0 || command.dryRun) return;
  requireYes(command, dialogue, `Undo ${counted(undone.length, "file")}?`);
  await undoFiles(run, undone, command.allowDrop);
  dialogue.print(`Undone: ${undone.map(undoneBy).join(", ")}`);
}

function show(
  { name, statements }: MigrationFile,
  { print }: MigrateTerminal,
  done: number | null = null,
): void {
  const state = done === null ? "" : ` (${done} of ${statements.length} statements have run)`;
  print(`-- ${name}${state}\n${statements.map((statement) => `${statement};`).join("\n")}`);
}

export function requireYes(
  { yes }: MigrateCommand,
  { ask }: MigrateTerminal,
  question: string,
): void {
  if (yes) return;
  if (ask === null) throw new Error("Cannot ask for a yes without a terminal: add --yes");
  if (!ask(question)) throw new Error("Nothing was changed.");
}

export function counted(count: number, noun: string): string {
  return `${count} ${noun}${count === 1 ? "" : "s"}`;
}
