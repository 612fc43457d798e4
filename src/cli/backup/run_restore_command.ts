import { dirname, join } from "node:path";
import { beginEpoch, requireIntact, requireUnused } from "../../engines/backup_files.ts";
import { systemRuntime } from "../../runtime/system_runtime.ts";
import { instantOf } from "../../schema/instant.ts";
import { pathExists } from "../path_exists.ts";
import { printableLines } from "../printable.ts";
import type { RestoreCommand } from "./backup_arguments.ts";
import { findServiceFiles } from "./backed_up_files.ts";
import { type BackedUpFile, type BackupManifest, readManifest, synchronize } from "./manifest.ts";

/** A file of a backup, and the path of the file that it replaces. */
interface Replacement {
  readonly file: BackedUpFile;
  readonly target: string;
  readonly exists: boolean;
}

/** Runs the command `restore`, and returns the exit code. */
export async function runRestoreCommand(command: RestoreCommand, version: string): Promise<number> {
  const manifest = await readManifest(command.folder);
  if (manifest.version.localeCompare(version, "en", { numeric: true }) > 0) {
    throw new Error(
      `Cannot restore a backup of version ${manifest.version} with version ${version}: ` +
        "install the newer version first",
    );
  }
  const replacements = await findReplacements(command, manifest);
  const { clock, random } = systemRuntime(() => {});
  const stamp = instantOf(clock.now()).replace(/\.\d+Z$/, "Z").replaceAll(":", "-");
  requireConsent(command, manifest, replacements, stamp);
  for (const { target, exists } of replacements) if (exists) requireUnused(target);
  for (const { file, target } of replacements) {
    const copy = copyOf(target);
    await Deno.mkdir(dirname(target), { recursive: true });
    await Deno.copyFile(join(command.folder, file.name), copy);
    requireIntact(copy);
    if (file.role === "database") beginEpoch(copy, random);
    await takeRights(copy, target);
    await synchronize(copy);
  }
  // Nothing has changed so far. A `-wal` file that stays would be applied to the restored file.
  for (const { target } of replacements) {
    for (const end of ["", "-wal", "-shm", "-journal"]) {
      if (await pathExists(target + end)) {
        await Deno.rename(target + end, aside(target, stamp) + end);
      }
    }
  }
  // Without the database, the service cannot start with a key-value store of another time.
  for (const { target } of replacements.toSorted((a, b) => order(a) - order(b))) {
    await Deno.rename(copyOf(target), target);
    await synchronize(dirname(target));
  }
  const names = replacements.map(({ target }) => target).join(" and ");
  console.log(printableLines(`Restored ${names} as of ${manifest.at}. ${consequences}`));
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
  const named = database === null && config === null
    ? { database, kv }
    : await findServiceFiles(command);
  return await Promise.all(files.map(async (file) => {
    const target = isNamed ? named[file.role] : file.path;
    if (target === null) {
      const option = file.role === "kv" ? "--kv FILE" : "DATABASE";
      throw new Error(`Cannot restore ${file.name}: name the file to replace by ${option}`);
    }
    return { file, target, exists: await pathExists(target) };
  }));
}

/** Throws a plain Error unless the user agrees to the replacement of existing files. */
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

function copyOf(target: string): string {
  return `${target}.restoring`;
}

function aside(target: string, stamp: string): string {
  return `${target}.before-${stamp}`;
}

function order({ file }: Replacement): number {
  return file.role === "kv" ? 0 : 1;
}
