import { basename, join } from "node:path";
import { copyFiles } from "../../engines/backup_files.ts";
import { systemRuntime } from "../../runtime/system_runtime.ts";
import { instantOf } from "../../schema/instant.ts";
import { pathExists } from "../path_exists.ts";
import { printValue } from "../printable.ts";
import type { BackupCommand } from "./backup_arguments.ts";
import { findServiceFiles, type ServiceFiles } from "./backed_up_files.ts";
import { type BackedUpFile, digest, manifestName, synchronize } from "./manifest.ts";

/** Runs the command `backup`, and returns the exit code. */
export async function runBackupCommand(command: BackupCommand, version: string): Promise<number> {
  const files = await findServiceFiles(command);
  const sources = await requireFiles(files);
  const { clock } = systemRuntime(() => {});
  const at = instantOf(clock.now()).replace(/\.\d+Z$/, "Z");
  const name = at.replaceAll(":", "-");
  const folder = join(command.folder, name);
  if (await pathExists(folder)) throw new Error(`Cannot back up to ${folder}: it exists already`);
  const partial = `${folder}.partial`;
  await Deno.mkdir(partial, { recursive: true, mode: 0o700 });
  try {
    const copies = sources.map(({ path, role }) => ({
      ...{ path, role, name: role === "kv" ? `kv-${basename(path)}` : basename(path) },
    }));
    const targets = copies.map((one) => ({ path: one.path, copy: join(partial, one.name) }));
    const heldMs = Math.round(await copyFiles(targets, clock.elapsedMs));
    const described: BackedUpFile[] = [];
    for (const copy of copies) {
      const path = join(partial, copy.name);
      // The copy can contain hashes of passwords and keys.
      if (Deno.build.os !== "windows") await Deno.chmod(path, 0o600);
      await synchronize(path);
      described.push({ ...copy, ...await digest(path) });
    }
    const manifest = join(partial, manifestName);
    const text = JSON.stringify({ version, at, files: described }, null, 2);
    await Deno.writeTextFile(manifest, `${text}\n`, { mode: 0o600 });
    for (const path of [manifest, partial]) await synchronize(path);
    // Only a complete backup has its name.
    await Deno.rename(partial, folder);
    await synchronize(command.folder);
    const removed = await removeOldest(command);
    const result = { folder, heldMs, files: described, removed, notices: files.notices };
    printValue(command.json, result, () => sentenceOf(folder, heldMs, described));
  } catch (error) {
    await Deno.remove(partial, { recursive: true }).catch(() => {});
    throw error;
  }
  if (!command.json) { for (const notice of files.notices) console.error(notice); }
  return 0;
}

type Source = Pick<BackedUpFile, "role" | "path">;

/** Throws a plain Error if a file is missing, or if there is no file, or the same file twice. */
async function requireFiles({ database, kv, notices }: ServiceFiles): Promise<readonly Source[]> {
  const sources: Source[] = [];
  if (database !== null) sources.push({ role: "database", path: database });
  if (kv !== null) sources.push({ role: "kv", path: kv });
  if (sources.length === 0) throw new Error(`Cannot back up: ${notices.join("; ")}`);
  for (const { path } of sources) {
    if (!await pathExists(path)) throw new Error(`Cannot open ${path}: there is no such file`);
  }
  const [first, second] = await Promise.all(sources.map(({ path }) => Deno.stat(path)));
  if (second !== undefined && first?.dev === second.dev && first.ino === second.ino) {
    throw new Error(`Cannot back up: ${kv} is the database and the key-value store`);
  }
  return sources;
}

/** Removes all backups of the folder except the newest `keep`. Returns their names. */
async function removeOldest(
  { folder, keep }: Pick<BackupCommand, "folder" | "keep">,
): Promise<readonly string[]> {
  if (keep === null) return [];
  const names: string[] = [];
  for await (const { name } of Deno.readDir(folder)) {
    if (/^\d{4}-\d\d-\d\dT\d\d-\d\d-\d\dZ$/.test(name)) names.push(name);
  }
  const removed = names.sort().slice(0, -keep);
  for (const name of removed) await Deno.remove(join(folder, name), { recursive: true });
  return removed;
}

function sentenceOf(folder: string, heldMs: number, files: readonly BackedUpFile[]): string {
  const sizes = files.map(({ path, bytes }) => `${basename(path)} (${megabytes(bytes)} MB)`);
  return `Backed up ${sizes.join(" and ")} to ${folder}; writers waited for ${heldMs} ms`;
}

function megabytes(bytes: number): string {
  return (bytes / 1e6).toFixed(1);
}
