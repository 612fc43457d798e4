import { readdir, writeFile } from "node:fs/promises";
import { engineOf } from "../../db/engine/engine.ts";
import type { Database } from "../../db/database.ts";
import type { WrittenPart } from "../../db/engine/migrations_engine.ts";
import type { MigrationPlan, MigrationStep } from "../../db/migrations/migration_plan.ts";

/** Writes a plan to SQL files. Statements that run outside a transaction have their own file. */
export async function writePlan(
  { steps }: MigrationPlan,
  { db, folder, name }: { readonly db: Database; readonly folder: string; readonly name: string },
): Promise<readonly string[]> {
  const { planning } = await engineOf(db.driver).migrations();
  const digits = (await readdir(folder)).flatMap((name) => /^(\d+)_.*\.sql$/.exec(name)?.[1] ?? []);
  const width = Math.max(4, ...digits.map(({ length }) => length));
  let number = Math.max(0, ...digits.map(Number));
  const written: string[] = [];
  for (const part of planning.writtenParts(steps)) {
    if (part.steps.length === 0) continue;
    const suffix = part.isApart ? "_without_locks" : "";
    const file = `${String(++number).padStart(width, "0")}_${name}${suffix}.sql`;
    await writeFile(`${folder}/${file}`, textOf(part), { flag: "wx" });
    written.push(file);
  }
  return written;
}

function textOf({ isApart, steps }: WrittenPart): string {
  const statements = steps.map((step) => `-- ${titleOf(step)}\n${step.sql};\n`);
  return [...(isApart ? ["-- no transaction\n"] : []), ...statements].join("\n");
}

export function titleOf({ purpose, lock, loses }: MigrationStep): string {
  const locks = lock === null ? "" : ` (lock: ${lock})`;
  const values = loses === null ? "" : `: VALUES OF ${loses} ARE LOST`;
  return `${purpose.replaceAll(/\s+/g, " ")}${locks}${values}`;
}
