import { quoteText } from "../../../sql/fragment.ts";
import { DatabaseError } from "../../database_error.ts";
import { runInSavepoint } from "../../database_handle.ts";
import type { Connection } from "../../driver.ts";
import { engineOf } from "../../engine/engine_of.ts";
import { appliedMigrations, migrationsTable } from "../applied_migrations.ts";
import { includesName } from "../plan/table_migration.ts";
import { applyFile, type FilesRun } from "./migrate_files.ts";
import { type MigrationFile, readDownFile } from "./migration_files.ts";

/** Returns the files that undo the last applied files, the file of the last one first. */
export async function filesToUndo(
  { driver, folder }: Pick<FilesRun, "driver" | "folder">,
  count: number,
): Promise<readonly MigrationFile[]> {
  const last = (await appliedFiles(driver, driver)).slice(-count).reverse();
  return await Promise.all(last.map((name) => readDownFile(folder, name, driver.dialect)));
}

/** Undoes applied files in one transaction. Throws an Error for a drop that `allowDrop` lacks. */
export async function undoFiles(
  run: FilesRun,
  files: readonly MigrationFile[],
  allowDrop: readonly string[],
): Promise<void> {
  const { running } = await engineOf(run.driver).migrations();
  await running.restructure(run.driver, async (connection) => {
    for (const file of files) {
      const applied = undoneBy(file);
      if ((await appliedFiles(connection, run.driver)).at(-1) !== applied) {
        throw new Error(`Cannot undo ${applied}: it is no longer the last file that was applied`);
      }
      const lost = await lostParts(connection, file.statements, allowDrop);
      if (lost.size > 0) {
        const options = [...lost].map((name) => `--allow-drop ${name}`).join(" ");
        throw new Error(`Cannot undo ${applied}: ${file.name} drops values: add ${options}`);
      }
      await applyFile(file, connection, run);
      const text = `DELETE FROM "${migrationsTable}" WHERE name = ${quoteText(applied)}`;
      await connection.query({ text, values: [] });
    }
  });
}

export function undoneBy({ name }: MigrationFile): string {
  return name.replace(/\.down\.sql$/, ".sql");
}

async function appliedFiles(
  connection: Connection,
  { dialect }: Pick<FilesRun["driver"], "dialect">,
): Promise<readonly string[]> {
  const names = (await appliedMigrations(connection, dialect)).map(({ name }) => name);
  return names.filter((name) => name.endsWith(".sql"));
}

/** Returns the tables and columns that statements drop or empty although they have values. */
async function lostParts(
  connection: Connection,
  statements: readonly string[],
  allowDrop: readonly string[],
): Promise<ReadonlySet<string>> {
  const lost = new Set<string>();
  for (const [part, rows] of statements.flatMap(droppedParts)) {
    const name = part.replaceAll(/[" ]/g, "");
    if (includesName(allowDrop, name)) continue;
    const text = `SELECT 1 FROM ${rows} LIMIT 1`;
    try {
      const select = async () => await connection.query({ text, values: [] });
      const found = await runInSavepoint(connection, "losses", select);
      if (found.rows.length > 0) lost.add(name);
    } catch (error) {
      // The table or column is missing. The statement itself fails too, or has IF EXISTS.
      if (!(error instanceof DatabaseError) || error.kind !== "other") throw error;
    }
  }
  return lost;
}

/** Returns the parts that a statement drops, and the SQL after FROM that selects their rows. */
function droppedParts(statement: string): readonly (readonly [string, string])[] {
  const sql = statement.replaceAll(/--[^\n]*|\/\*[^]*?\*\//g, " ").replaceAll(/\s+/g, " ").trim();
  const dropped = tables.exec(sql)?.[1]?.split(",") ?? [];
  const container = cascading.exec(sql)?.[1];
  const table = altered.exec(sql)?.[1];
  return [
    // The tables and columns that CASCADE drops are unknown, so they count as parts with values.
    ...(container === undefined ? [] : [[container, "(SELECT 1) AS one"]] as const),
    ...dropped.map((name) => [name, name] as const),
    ...(table === undefined ? [] : [...sql.matchAll(columns)]).map(([, column]) =>
      [`${table}.${column}`, `${table} WHERE ${column} IS NOT NULL`] as const
    ),
  ];
}

const word = String.raw`(?:"(?:[^"]|"")+"|[\w$]+)`;
const sqlName = String.raw`${word}(?:\.${word})?`;
const tables = new RegExp(
  `^(?:DROP TABLE|TRUNCATE(?: TABLE)?|DELETE FROM)(?: IF EXISTS| ONLY)* (${sqlName}(?: ?, ?${sqlName})*)`,
  "i",
);
const altered = new RegExp(`^ALTER TABLE(?: IF EXISTS| ONLY)* (${sqlName})`, "i");
const cascading = new RegExp(
  `^DROP (?:SCHEMA|TYPE|DOMAIN)(?: IF EXISTS)? (${sqlName}).* CASCADE`,
  "i",
);
const noColumn = "(?!(?:COLUMN|CONSTRAINT|DEFAULT|NOT|IDENTITY|EXPRESSION)\\b)";
const columns = new RegExp(
  `\\bDROP (?:COLUMN )?(?:IF EXISTS )?${noColumn}(${word})`,
  "gi",
);
