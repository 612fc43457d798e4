import { basename, dirname, join } from "node:path";
import { copyFiles } from "../../engines/backup_files.ts";
import type { Clock } from "../../runtime/runtime.ts";
import { systemRuntime } from "../../runtime/system_runtime.ts";
import { instantOf } from "../../schema/instant.ts";
import { Misuse } from "../command_options.ts";
import { pathExists } from "../path_exists.ts";
import { printable, printValue } from "../printable.ts";
import type { BackupCommand } from "./backup_arguments.ts";
import { findServiceFiles, type ServiceFiles } from "./backed_up_files.ts";
import {
  type BackedUpFile,
  digest,
  findManifest,
  manifestName,
  plainError,
  synchronize,
} from "./manifest.ts";

export async function runBackupCommand(command: BackupCommand, version: string): Promise<number> {
  const files = await findServiceFiles(command);
  const sources = await requireFiles(files);
  const { clock } = systemRuntime(() => {});
  const at = instantOf(clock.now()).replace(/\.\d+Z$/, "Z");
  try {
    const folder = await createFolder(command.folder, at.replaceAll(":", "-"));
    const { heldMs, described } = await fillFolder(folder, sources, { version, at, clock });
    const removed = await removeOldest(command, described, { name: basename(folder), at });
    const result = { folder, heldMs, files: described, removed, notices: files.notices };
    printValue(command.json, result, () => sentenceOf(folder, heldMs, described));
    if (!command.json) {
      for (const name of removed) console.log(printable(`Removed ${join(command.folder, name)}`));
      for (const notice of files.notices) console.error(notice);
    }
    return 0;
  } catch (error) {
    throw plainError(`back up to ${command.folder}`, error);
  }
}

/** Creates a folder whose name ends with `.partial`. Returns its path without this suffix. */
async function createFolder(parent: string, name: string): Promise<string> {
  await Deno.mkdir(parent, { recursive: true, mode: 0o700 });
  for (;;) {
    // Backups of the same second get increasing numbers, so that their names sort by age.
    const counts = [0];
    for await (const { name: other } of Deno.readDir(parent)) {
      const [, start, count] = /^(.*Z)(?:-(\d+))?(?:\.partial)?$/.exec(other) ?? [];
      if (start === name) counts.push(Number(count ?? 1));
    }
    const count = Math.max(...counts) + 1;
    const folder = join(parent, count === 1 ? name : `${name}-${count}`);
    try {
      await Deno.mkdir(folder + partialEnd, { mode: 0o700 });
      return folder;
    } catch (error) {
      if (!(error instanceof Deno.errors.AlreadyExists)) throw error;
    }
  }
}

const partialEnd = ".partial";

async function fillFolder(
  folder: string,
  sources: readonly Source[],
  { version, at, clock }: {
    readonly version: string;
    readonly at: string;
    readonly clock: Clock;
  },
): Promise<{ readonly heldMs: number; readonly described: readonly BackedUpFile[] }> {
  const partial = folder + partialEnd;
  try {
    const copies = sources.map(({ path, role }) => ({
      ...{ path, role, name: role === "kv" ? `kv-${basename(path)}` : basename(path) },
    }));
    const targets = copies.map((one) => ({ path: one.path, copy: join(partial, one.name) }));
    const heldMs = Math.round(await copyFiles(targets, clock.elapsedMs));
    const described: BackedUpFile[] = [];
    for (const copy of copies) {
      const path = join(partial, copy.name);
      // Only the owner may read the copy, which can contain hashes of passwords and keys.
      if (Deno.build.os !== "windows") await Deno.chmod(path, 0o600);
      await synchronize(path);
      described.push({ ...copy, ...await digest(path) });
    }
    const manifest = join(partial, manifestName);
    const text = JSON.stringify({ version, at, files: described }, null, 2);
    await Deno.writeTextFile(manifest, `${text}\n`, { mode: 0o600 });
    for (const path of [manifest, partial]) await synchronize(path);
    // The backup gets its final name when it is complete.
    await Deno.rename(partial, folder);
    await synchronize(dirname(folder));
    return { heldMs, described };
  } catch (error) {
    await Deno.remove(partial, { recursive: true }).catch(() => {});
    throw error;
  }
}

type Source = Pick<BackedUpFile, "role" | "path">;

async function requireFiles({ database, kv, notices }: ServiceFiles): Promise<readonly Source[]> {
  const sources: Source[] = [];
  if (database !== null) sources.push({ role: "database", path: database });
  if (kv !== null) sources.push({ role: "kv", path: kv });
  if (sources.length === 0) throw new Error(`Cannot back up: ${notices.join("; ")}`);
  for (const { path } of sources) {
    if (!await pathExists(path)) throw new Misuse(`Cannot open ${path}: there is no such file`);
  }
  const [first, second] = await Promise.all(sources.map(({ path }) => Deno.stat(path)));
  if (second !== undefined && first?.dev === second.dev && first.ino === second.ino) {
    throw new Error(`Cannot back up: ${kv} is the database and the key-value store`);
  }
  return sources;
}

/** Keeps the newest `keep` backups. Also removes partial backups that began over a day ago. */
async function removeOldest(
  { folder, keep }: Pick<BackupCommand, "folder" | "keep">,
  files: readonly BackedUpFile[],
  newest: { readonly name: string; readonly at: string },
): Promise<readonly string[]> {
  if (keep === null) return [];
  const paths = pathsOf(files);
  const killedBefore = Date.parse(newest.at) - dayMs;
  const [backups, killed]: [string[], string[]] = [[], []];
  for await (const { name, isDirectory } of Deno.readDir(folder)) {
    const [, date, time = "", end] = nameOfBackup.exec(name) ?? [];
    if (!isDirectory || date === undefined) continue;
    if (end !== undefined) {
      const begun = Date.parse(`${date}T${time.replaceAll("-", ":")}Z`);
      if (begun < killedBefore) killed.push(name);
    } else if (name !== newest.name) {
      const manifest = await findManifest(join(folder, name));
      if (manifest !== null && pathsOf(manifest.files) === paths) backups.push(name);
    }
  }
  backups.sort(new Intl.Collator("en", { numeric: true }).compare);
  const removed = [...backups.slice(0, Math.max(0, backups.length - keep + 1)), ...killed];
  for (const name of removed) await Deno.remove(join(folder, name), { recursive: true });
  return removed;
}

const nameOfBackup = /^(\d{4}-\d\d-\d\d)T(\d\d-\d\d-\d\d)Z(?:-\d+)?(\.partial)?$/;

const dayMs = 86_400_000;

function pathsOf(files: readonly BackedUpFile[]): string {
  return JSON.stringify(files.map(({ role, path }) => `${role} ${path}`).toSorted());
}

function sentenceOf(folder: string, heldMs: number, files: readonly BackedUpFile[]): string {
  const sizes = files.map(({ path, bytes }) => `${basename(path)} (${megabytes(bytes)} MB)`);
  return `Backed up ${sizes.join(" and ")} to ${folder}; writers waited for ${heldMs} ms`;
}

function megabytes(bytes: number): string {
  return (bytes / 1e6).toFixed(1);
}
