import type { Random } from "../../../runtime/runtime.ts";
import { DatabaseError, fullReasonOf } from "../../database_error.ts";
import type { Connection, Driver } from "../../driver.ts";
import { engineOf } from "../../engine/engine.ts";
import {
  appliedMigrations,
  checksumOf,
  migrationsTable,
  recordMigration,
  recordProgress,
  statementsDone,
  unfinished,
} from "../applied_migrations.ts";
import { resumeRecording } from "../restore_recording.ts";
import { type MigrationFile, readDownFile, readMigrationFiles } from "./migration_files.ts";
import { quoteText } from "../../../sql/fragment.ts";
import { runInSavepoint } from "../../database_handle.ts";
import { includesName } from "../plan/table_migration.ts";

export interface FilesRun {
  readonly driver: Driver;
  readonly folder: string;
  readonly random: Random;
  /** True to continue a stopped file that runs without a transaction. Default: false. */
  readonly resume?: boolean;
}

export interface PendingFiles {
  readonly pending: readonly MigrationFile[];
  /** The number of statements that an unfinished file has run, by the file's name. */
  readonly begun: ReadonlyMap<string, number>;
  readonly unknown: readonly string[];
}

/** Returns the files to apply. Throws for a changed file, or if a new file's number is too low. */
export async function pendingFiles({ driver, folder }: FilesRun): Promise<PendingFiles> {
  return await pendingOf(await readMigrationFiles(folder, driver.dialect), driver, driver);
}

/** Applies pending files in order and returns their names. Skips files that another process ran. */
export async function migrateFiles(run: FilesRun): Promise<readonly string[]> {
  const { driver } = run;
  const { running } = await engineOf(driver).migrations();
  const files = await readMigrationFiles(run.folder, driver.dialect);
  const done: string[] = [];
  for (const file of (await pendingOf(files, driver, driver)).pending) {
    const apply = async (connection: Connection) => {
      const found = await pendingOf(files, connection, driver);
      if (!found.pending.includes(file)) return;
      if (file.isApart) {
        await applyApart(file, connection, { ...run, done: found.begun.get(file.name) ?? null });
      } else {
        await applyFile(file, connection, run);
        await recordMigration(connection, file);
      }
      done.push(file.name);
    };
    if (file.isApart) await running.apart(driver, apply);
    else {
      const isPlain = running.hasOneWriter && !file.withoutKeys;
      await (isPlain ? driver.transaction(apply) : running.restructure(driver, apply));
    }
    // Removes the file's settings, temporary tables and locks, which end with the connection.
    driver.renewConnections?.();
  }
  return done;
}

/** In one transaction, records files as applied without running them. Returns their names. */
export async function recordFiles({ driver, folder }: FilesRun): Promise<readonly string[]> {
  const files = await readMigrationFiles(folder, driver.dialect);
  const { running } = await engineOf(driver).migrations();
  return await running.restructure(driver, async (connection) => {
    const { pending, begun } = await pendingOf(files, connection, driver);
    for (const file of pending) {
      if (begun.has(file.name)) await recordProgress(connection, file, file.statements.length);
      else await recordMigration(connection, file);
    }
    return pending.map(({ name }) => name);
  });
}

async function pendingOf(
  files: readonly MigrationFile[],
  connection: Connection,
  { dialect }: Pick<Driver, "dialect">,
): Promise<PendingFiles> {
  const applied = await appliedMigrations(connection, dialect);
  const byName = new Map(applied.map((one) => [one.name, one]));
  const pending: MigrationFile[] = [];
  const begun = new Map<string, number>();
  for (const file of files) {
    const found = byName.get(file.name);
    const done = found === undefined ? null : statementsDone(found);
    if (done !== null) begun.set(file.name, done);
    if (found === undefined || done !== null) pending.push(file);
    else if (found.checksum !== checksumOf(file.sql)) {
      throw new Error(
        `Cannot migrate: ${file.name} was applied and has changed since; restore it, and write ` +
          "what is to change into a new file",
      );
    } else if (pending[0] !== undefined) {
      throw new Error(
        `Cannot migrate: ${
          pending[0].name
        } comes before ${file.name}, which was applied: give it a ` +
          "larger number",
      );
    }
  }
  const names = new Set(files.map(({ name }) => name));
  const unknown = applied.filter(({ name }) => name.endsWith(".sql") && !names.has(name));
  return { pending, begun, unknown: unknown.map(({ name }) => name) };
}

async function applyApart(
  file: MigrationFile,
  connection: Connection,
  { driver: { dialect }, resume, done }: FilesRun & { readonly done: number | null },
): Promise<void> {
  const { name, statements } = file;
  const { running } = await engineOf({ dialect }).migrations();
  const unusable = async () => {
    const named = (await running.unusableIndexes(connection)).filter((one) =>
      file.sql.includes(one)
    );
    return named.map((one) => `; the index ${one} is INVALID: drop it`).join("");
  };
  const recordDone = async (count: number) =>
    await running.asItself(connection, () => recordProgress(connection, file, count));
  const isFirst = done === null && await recordMigration(connection, file, `${unfinished} 0`);
  if (!isFirst && resume !== true) {
    throw new Error(
      `Cannot migrate: ${name} has no transaction, and stopped after ${done ?? 0} of ` +
        `${statements.length} statements, or another process runs it now. Statement ` +
        `${
          (done ?? 0) + 1
        } may have run${await unusable()}. --resume runs this statement and the ` +
        "rest",
    );
  }
  // A resumed file has a new connection, so its statements that change settings run again.
  for (const text of statements.slice(0, done ?? 0)) {
    if (changesSettings.test(text)) await runOfFile(name, text, connection);
  }
  for (let index = done ?? 0; index < statements.length; index++) {
    await runOfFile(name, statements[index] ?? "", connection);
    await recordDone(index + 1);
  }
  for (const text of running.undoSettings(statements)) await connection.query({ text, values: [] });
  await recordDone(statements.length);
  const left = await unusable();
  if (left !== "") throw new Error(`Cannot rely on ${name}, although it has run${left}`);
}

const changesSettings =
  /^(?:\s|--[^\n]*\n|\/\*[^]*?\*\/)*(?:SET|RESET|PRAGMA|SELECT\s+(?:pg_catalog\.)?set_config)\b/i;

async function runOfFile(name: string, text: string, connection: Connection): Promise<void> {
  try {
    await connection.query({ text, values: [] });
  } catch (cause) {
    if (!(cause instanceof DatabaseError)) throw cause;
    const start = text.length > 80 ? `${text.slice(0, 80)} …` : text;
    throw new Error(`Cannot migrate: ${name} fails at ${start}: ${fullReasonOf(cause)}`, { cause });
  }
}

export async function applyFile(
  { name, statements, withoutKeys }: MigrationFile,
  connection: Connection,
  { driver: { dialect }, random }: FilesRun,
): Promise<void> {
  const engine = await engineOf({ dialect }).migrations();
  const check = withoutKeys ? await engine.running.integrity(connection) : null;
  const recorded = await engine.recording.pause(connection);
  for (const text of statements) await runOfFile(name, text, connection);
  for (const text of engine.running.undoSettings(statements)) {
    await connection.query({ text, values: [] });
  }
  await check?.([], name);
  await resumeRecording(connection, engine, { recorded, random });
}

export async function filesToUndo(
  { driver, folder }: Pick<FilesRun, "driver" | "folder">,
  count: number,
): Promise<readonly MigrationFile[]> {
  const last = (await appliedFiles(driver, driver)).slice(-count).reverse();
  return await Promise.all(last.map((name) => readDownFile(folder, name, driver.dialect)));
}

/** Undoes files in one transaction. Throws an Error if a file drops values without `allowDrop`. */
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
      // The table or column does not exist, so the DROP loses nothing: it fails or has IF EXISTS.
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
    // The tables and columns that CASCADE drops are unknown, so they are assumed to have values.
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
