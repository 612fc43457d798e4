import { quoteText } from "../../../sql/fragment.ts";
import { DatabaseError } from "../../database_error.ts";
import { runInSavepoint } from "../../database_handle.ts";
import type { Connection, Driver } from "../../driver.ts";
import { engineOf } from "../../engine/engine_of.ts";
import { appliedMigrations, migrationsTable } from "../applied_migrations.ts";
import { includesName } from "../plan/table_migration.ts";
import { applyFile, type FilesRun } from "./migrate_files.ts";
import { type MigrationFile, readDownFile } from "./migration_files.ts";

/** An applied file, and the file that undoes it. */
export interface Undo {
  readonly applied: string;
  readonly file: MigrationFile;
}

/** Returns the last applied files with the files that undo them, the last one first. */
export async function filesToUndo(
  { driver, folder }: { readonly driver: Driver; readonly folder: string },
  count: number,
): Promise<readonly Undo[]> {
  const names = (await appliedMigrations(driver, driver.dialect)).map(({ name }) => name);
  const last = names.filter((name) => name.endsWith(".sql")).slice(-count).reverse();
  return await Promise.all(last.map(async (applied) => ({
    applied,
    file: await readDownFile(folder, applied, driver.dialect),
  })));
}

/**
 * Undoes applied files in one transaction. Throws an Error if a statement would drop a table or a
 * column with values that `allowDrop` does not contain.
 */
export async function undoFiles(
  run: FilesRun,
  undone: readonly Undo[],
  allowDrop: readonly string[],
): Promise<void> {
  const { driver } = run;
  const { running } = await engineOf(driver).migrations();
  await running.restructure(driver, async (connection) => {
    for (const { applied, file } of undone) {
      const names = (await appliedMigrations(connection, driver.dialect)).map(({ name }) => name);
      if (names.findLast((name) => name.endsWith(".sql")) !== applied) {
        throw new Error(`Cannot undo ${applied}: it is no longer the last file that was applied`);
      }
      const lost = await lostParts(connection, file.statements, allowDrop);
      if (lost.length > 0) {
        const options = lost.map((name) => `--allow-drop ${name}`).join(" ");
        throw new Error(`Cannot undo ${applied}: ${file.name} drops values: add ${options}`);
      }
      await applyFile(file, connection, run);
      const text = `DELETE FROM "${migrationsTable}" WHERE name = ${quoteText(applied)}`;
      await connection.query({ text, values: [] });
    }
  });
}

/** Returns the tables and columns that statements drop or empty although they have values. */
async function lostParts(
  connection: Connection,
  statements: readonly string[],
  allowDrop: readonly string[],
): Promise<readonly string[]> {
  const lost = new Set<string>();
  for (const { name, rows } of statements.flatMap(droppedParts)) {
    const text = `SELECT 1 FROM ${rows} LIMIT 1`;
    try {
      const select = async () => await connection.query({ text, values: [] });
      const found = await runInSavepoint(connection, "losses", select);
      if (found.rows.length > 0 && !includesName(allowDrop, name)) lost.add(name);
    } catch (error) {
      // The table or column is missing. The statement itself fails too, or has IF EXISTS.
      if (!(error instanceof DatabaseError) || error.kind !== "other") throw error;
    }
  }
  return [...lost];
}

interface DroppedPart {
  /** The name of a table or column, in the form of `allowDrop`. */
  readonly name: string;
  /** The SQL after FROM that selects the rows with values. */
  readonly rows: string;
}

const sqlName = String.raw`(?:"(?:[^"]|"")+"|[\w$]+)(?:\.(?:"(?:[^"]|"")+"|[\w$]+))?`;
const tables = new RegExp(
  String
    .raw`^(?:DROP TABLE|TRUNCATE(?: TABLE)?|DELETE FROM)(?: IF EXISTS| ONLY)* (${sqlName}(?: ?, ?${sqlName})*)`,
  "i",
);
const altered = new RegExp(String.raw`^ALTER TABLE(?: IF EXISTS| ONLY)* (${sqlName})`, "i");
const cascading = new RegExp(
  String.raw`^DROP (?:SCHEMA|TYPE|DOMAIN)(?: IF EXISTS)? (${sqlName}).* CASCADE`,
  "i",
);
const columns = new RegExp(
  String
    .raw`\bDROP (?:COLUMN )?(?:IF EXISTS )?(?!(?:COLUMN|CONSTRAINT|DEFAULT|NOT|IDENTITY|EXPRESSION)\b)(${sqlName})`,
  "gi",
);

function droppedParts(statement: string): readonly DroppedPart[] {
  const sql = statement.replaceAll(/--[^\n]*|\/\*[^]*?\*\//g, " ").replaceAll(/\s+/g, " ").trim();
  const dropped = tables.exec(sql)?.[1]?.split(",") ?? [];
  const [, table] = altered.exec(sql) ?? [];
  const [, container] = cascading.exec(sql) ?? [];
  return [
    // The tables and columns that CASCADE drops are unknown, so they count as parts with values.
    ...(container === undefined ? [] : [{ name: unquoted(container), rows: "(SELECT 1) AS one" }]),
    ...dropped.map((name) => ({ name: unquoted(name), rows: name })),
    ...(table === undefined ? [] : [...sql.matchAll(columns)].map(([, column = ""]) => ({
      name: `${unquoted(table)}.${unquoted(column)}`,
      rows: `${table} WHERE ${column} IS NOT NULL`,
    }))),
  ];
}

function unquoted(name: string): string {
  return name.trim().replaceAll('"', "");
}
