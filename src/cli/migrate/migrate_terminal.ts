import type { MigrationStep } from "../../db/migrations/migration_plan.ts";
import type { MigrateCommand } from "./migrate_arguments.ts";

export interface MigrateTerminal {
  readonly print: (line: string) => void;
  /** Asks the user a yes/no question. Null without a terminal. */
  readonly ask: ((question: string) => boolean) | null;
}

/** Returns the purpose of a statement in one line, its lock, and the part that it loses. */
export function titleOf({ purpose, lock, loses }: MigrationStep): string {
  const locks = lock === null ? "" : ` (lock: ${lock})`;
  const values = loses === null ? "" : `: VALUES OF ${loses} ARE LOST`;
  return `${purpose.replaceAll(/\s+/g, " ")}${locks}${values}`;
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
