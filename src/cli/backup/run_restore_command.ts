import { dirname, join } from "node:path";
import { beginEpoch, isStore, requireIntact, requireUnused } from "../../engines/backup_files.ts";
import { withoutSecrets } from "../../engines/server_url.ts";
import type { Clock } from "../../runtime/runtime.ts";
import { systemRuntime } from "../../runtime/system_runtime.ts";
import { instantOf } from "../../schema/instant.ts";
import { pathExists } from "../path_exists.ts";
import { printableLines } from "../printable.ts";
import type { RestoreCommand } from "./backup_arguments.ts";
import { sqlitePathOf } from "../database/resolve_database_url.ts";
import { findServiceFiles, realPathOf } from "./backed_up_files.ts";
import {
  type BackedUpFile,
  type BackupManifest,
  plainError,
  readManifest,
  synchronize,
} from "./manifest.ts";

interface Replacement {
  readonly file: BackedUpFile;
  readonly target: string;
  readonly exists: boolean;
}

export async function runRestoreCommand(command: RestoreCommand, version: string): Promise<number> {
  const manifest = await readManifest(command.folder);
  if (manifest.version.localeCompare(version, "en", { numeric: true }) > 0) {
    throw new Error(
      `Cannot restore a backup of version ${manifest.version} with version ${version}: ` +
        "install the newer version first",
    );
  }
  const replacements = await findReplacements(command, manifest);
  const unused = manifest.files.filter((one) => !replacements.some(({ file }) => file === one));
  const { clock, random } = systemRuntime(() => {});
  const stamp = await freeStamp(replacements, clock);
  requireConsent(command, manifest, replacements, stamp);
  for (const { file, target, exists } of replacements) {
    if (exists) requireReplaceable(target, file.role);
  }
  try {
    for (const { file, target } of replacements) {
      const copy = copyOf(target);
      await Deno.mkdir(dirname(target), { recursive: true });
      await Deno.copyFile(join(command.folder, file.name), copy);
      requireIntact(copy);
      if (file.role === "database") beginEpoch(copy, random);
      await takeRights(copy, target);
      await synchronize(copy);
    }
  } catch (error) {
    for (const { target } of replacements) await Deno.remove(copyOf(target)).catch(() => {});
    throw plainError("restore", error);
  }
  // Moves all files away: SQLite would apply a remaining `-wal` file to the restored file.
  for (const { target } of replacements) {
    for (const end of ["", "-wal", "-shm", "-journal"]) {
      if (await pathExists(target + end)) await moveAside(target + end, aside(target, stamp) + end);
    }
  }
  // Replaces the database last: if this fails, the service refuses to start with the new store.
  for (const { target } of replacements.toSorted((a, b) => order(a) - order(b))) {
    await Deno.rename(copyOf(target), target);
    await synchronize(dirname(target));
  }
  const names = replacements.map(({ target }) => target).join(" and ");
  console.log(printableLines(`Restored ${names} as of ${manifest.at}. ${consequences}`));
  for (const { name, role } of unused) {
    const option = role === "kv" ? "--kv FILE" : "DATABASE";
    console.error(printableLines(`Not restored: ${name}, because ${option} names no file for it`));
  }
  return 0;
}

const consequences = "All live streams start again. Sessions and API keys that were ended since " +
  "then are valid again, credits have the balances of then, and idempotency keys since then are " +
  "unknown.";

async function findReplacements(
  command: RestoreCommand,
  { files }: BackupManifest,
): Promise<readonly Replacement[]> {
  const { database, kv, config } = command;
  const isNamed = database !== null || kv !== null || config !== null;
  const named = config === null
    ? { database: database === null ? null : requireSqlitePath(database), kv }
    : await findServiceFiles(command);
  const replacements: Replacement[] = [];
  for (const file of files) {
    const path = isNamed ? named[file.role] : file.path;
    if (path === null) continue;
    // Replaces the file that a symbolic link leads to, and keeps the link.
    const target = await realPathOf(path);
    replacements.push({ file, target, exists: await pathExists(target) });
  }
  if (replacements.length > 0) return replacements;
  const names = files.map(({ name }) => name).join(" and ");
  throw new Error(`Cannot restore: the backup contains ${names}, and no argument names its file`);
}

function requireSqlitePath(database: string): string {
  const path = sqlitePathOf(database);
  if (path !== null) return path;
  throw new Error(`Cannot restore ${withoutSecrets(database)}: only SQLite files can be replaced`);
}

function requireReplaceable(target: string, role: BackedUpFile["role"]): void {
  requireUnused(target);
  const found = isStore(target);
  if (found === null || found === (role === "kv")) return;
  throw new Error(
    role === "kv"
      ? `Cannot replace ${target} by a key-value store: it is a database`
      : `Cannot replace ${target} by a database: it is a key-value store`,
  );
}

function requireConsent(
  { yes }: RestoreCommand,
  { at }: BackupManifest,
  replacements: readonly Replacement[],
  stamp: string,
): void {
  const replaced = replacements.filter(({ exists }) => exists);
  if (yes || replaced.length === 0) return;
  const lines = replaced.map(({ target }) => `  ${target}, kept as ${aside(target, stamp)}`);
  console.log(printableLines([`The backup of ${at} replaces:`, ...lines].join("\n")));
  const isTerminal = Deno.stdin.isTerminal() && Deno.stdout.isTerminal();
  if (!isTerminal) throw new Error("Cannot ask without a terminal: use --yes to replace the files");
  if (!confirm("Replace?")) throw new Error("Nothing was changed");
}

/** Sets the owner and the mode of the copy to those of the file that it replaces. */
async function takeRights(copy: string, target: string): Promise<void> {
  if (Deno.build.os === "windows" || !await pathExists(target)) return;
  const [{ uid, gid, mode }, now] = await Promise.all([Deno.stat(target), Deno.stat(copy)]);
  if (mode !== null) await Deno.chmod(copy, mode & 0o777);
  if (uid !== now.uid || gid !== now.gid) await Deno.chown(copy, uid, gid);
}

/** Each process has its own copy, so that two restores of one file cannot mix their bytes. */
function copyOf(target: string): string {
  return `${target}.restoring-${Deno.pid}`;
}

async function freeStamp(replacements: readonly Replacement[], clock: Clock): Promise<string> {
  const time = instantOf(clock.now()).replace(/\.\d+Z$/, "Z").replaceAll(":", "-");
  for (let count = 1;; count++) {
    const stamp = count === 1 ? time : `${time}-${count}`;
    const isUsed = await Promise.all(
      replacements.map(({ target }) => pathExists(aside(target, stamp))),
    );
    if (!isUsed.includes(true)) return stamp;
  }
}

/** Moves a file by a hard link, which, unlike a rename, never replaces an existing file. */
async function moveAside(path: string, place: string): Promise<void> {
  try {
    await Deno.link(path, place);
  } catch (error) {
    if (error instanceof Deno.errors.AlreadyExists) throw plainError("restore", error);
    // Some file systems, such as exFAT, have no hard links.
    return await Deno.rename(path, place);
  }
  await Deno.remove(path);
}

function aside(target: string, stamp: string): string {
  return `${target}.before-${stamp}`;
}

function order({ file }: Replacement): number {
  return file.role === "kv" ? 0 : 1;
}
