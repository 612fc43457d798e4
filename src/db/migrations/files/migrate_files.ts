import type { Random } from "../../../runtime/runtime.ts";
import { DatabaseError, fullReasonOf } from "../../database_error.ts";
import type { Connection, Driver } from "../../driver.ts";
import { engineOf } from "../../engine/engine_of.ts";
import {
  type AppliedMigration,
  appliedMigrations,
  checksumOf,
  recordMigration,
} from "../applied_migrations.ts";
import { resumeRecording } from "../restore_recording.ts";
import { type MigrationFile, readMigrationFiles } from "./migration_files.ts";

export interface FilesRun {
  readonly driver: Driver;
  readonly folder: string;
  readonly random: Random;
}

export interface PendingFiles {
  /** The files that were not applied yet, in their order. */
  readonly pending: readonly MigrationFile[];
  /** The names of applied files that are not in the folder. */
  readonly unknown: readonly string[];
}

/**
 * Returns the files to apply. Throws an Error for a file that was changed after it was applied, and
 * for a new file whose number is lower than that of an applied one.
 */
export async function pendingFiles({ driver, folder }: FilesRun): Promise<PendingFiles> {
  const files = await readMigrationFiles(folder, driver.dialect);
  return pendingOf(files, await appliedMigrations(driver, driver.dialect));
}

/**
 * Applies a folder's files in order, each in its own transaction, and returns their names. Each
 * file is applied once, even if several processes start together. `before` is called before each.
 */
export async function migrateFiles(
  run: FilesRun,
  before: (file: MigrationFile) => void = () => {},
): Promise<readonly string[]> {
  const { driver } = run;
  const { running } = await engineOf(driver).migrations();
  const files = await readMigrationFiles(run.folder, driver.dialect);
  const done: string[] = [];
  for (const file of pendingOf(files, await appliedMigrations(driver, driver.dialect)).pending) {
    const apply = async (connection: Connection) => {
      const { pending } = pendingOf(files, await appliedMigrations(connection, driver.dialect));
      if (!pending.includes(file)) return;
      before(file);
      await applyFile(file, connection, run);
      done.push(file.name);
    };
    const isPlain = running.hasOneWriter && !file.withoutKeys;
    await (isPlain ? driver.transaction(apply) : running.restructure(driver, apply));
  }
  return done;
}

/**
 * Records the files of a folder as applied without running them, in one transaction, and returns
 * their names. Use it for a new database that already has the tables of the files.
 */
export async function recordFiles({ driver, folder }: FilesRun): Promise<readonly string[]> {
  const files = await readMigrationFiles(folder, driver.dialect);
  const { running } = await engineOf(driver).migrations();
  return await running.restructure(driver, async (connection) => {
    const { pending } = pendingOf(files, await appliedMigrations(connection, driver.dialect));
    for (const file of pending) await recordMigration(connection, file);
    return pending.map(({ name }) => name);
  });
}

function pendingOf(
  files: readonly MigrationFile[],
  applied: readonly AppliedMigration[],
): PendingFiles {
  const byName = new Map(applied.map(({ name, checksum }) => [name, checksum]));
  const pending: MigrationFile[] = [];
  for (const file of files) {
    const checksum = byName.get(file.name);
    if (checksum === undefined) pending.push(file);
    else if (checksum !== checksumOf(file.sql)) {
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
  return { pending, unknown: unknown.map(({ name }) => name) };
}

async function applyFile(
  { name, sql, statements, withoutKeys }: MigrationFile,
  connection: Connection,
  { driver: { dialect }, random }: FilesRun,
): Promise<void> {
  const engine = await engineOf({ dialect }).migrations();
  const check = withoutKeys ? await engine.running.integrity(connection) : null;
  const recorded = await engine.recording.pause(connection);
  for (const text of statements) {
    try {
      await connection.query({ text, values: [] });
    } catch (cause) {
      if (!(cause instanceof DatabaseError)) throw cause;
      const start = text.length > 80 ? `${text.slice(0, 80)} …` : text;
      throw new Error(`Cannot migrate: ${name} fails at ${start}: ${fullReasonOf(cause)}`, {
        cause,
      });
    }
  }
  await check?.([], name);
  await resumeRecording(connection, engine, { recorded, random });
  await recordMigration(connection, { name, sql });
}
