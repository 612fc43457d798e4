import { createHash } from "node:crypto";
import { join } from "node:path";
import { Misuse } from "../command_options.ts";
import { pathExists } from "../path_exists.ts";

export interface BackupManifest {
  readonly version: string;
  readonly at: string;
  readonly files: readonly BackedUpFile[];
}

export interface BackedUpFile {
  readonly role: "database" | "kv";
  readonly name: string;
  readonly path: string;
  readonly bytes: number;
  readonly sha256: string;
}

export const manifestName = "manifest.json";

export async function findManifest(folder: string): Promise<BackupManifest | null> {
  const path = join(folder, manifestName);
  return await pathExists(path) ? parse(await Deno.readTextFile(path)) : null;
}

/** Reads the manifest of a backup, and checks its files. Throws a plain Error if a file differs. */
export async function readManifest(folder: string): Promise<BackupManifest> {
  const manifest = await findManifest(folder);
  if (manifest === null) {
    throw new Misuse(`${folder} is no backup: it has no ${manifestName} of a backup`);
  }
  for (const { name, bytes, sha256 } of manifest.files) {
    const file = join(folder, name);
    if (!await pathExists(file)) throw new Error(`The backup is not complete: ${file} is missing`);
    const found = await digest(file);
    if (found.bytes !== bytes || found.sha256 !== sha256) {
      throw new Error(`${file} is not the file that was backed up: its SHA-256 differs`);
    }
  }
  return manifest;
}

function parse(text: string): BackupManifest | null {
  try {
    const given: unknown = JSON.parse(text);
    return isManifest(given) ? given : null;
  } catch {
    return null;
  }
}

function isManifest(given: unknown): given is BackupManifest {
  if (typeof given !== "object" || given === null || !("files" in given)) return false;
  if (!("version" in given) || typeof given.version !== "string") return false;
  if (!("at" in given) || typeof given.at !== "string" || !Array.isArray(given.files)) return false;
  return given.files.length > 0 && given.files.every(isFile);
}

/** Refuses names with a slash, because a manifest must not name files outside of its folder. */
function isFile(file: unknown): boolean {
  if (typeof file !== "object" || file === null) return false;
  const { role, name, path, bytes, sha256 }: Partial<Record<keyof BackedUpFile, unknown>> = file;
  return (role === "database" || role === "kv") && typeof name === "string" &&
    /^[\w-][\w. -]*$/.test(name) && typeof path === "string" && typeof bytes === "number" &&
    typeof sha256 === "string";
}

export async function digest(path: string): Promise<Pick<BackedUpFile, "bytes" | "sha256">> {
  const hash = createHash("sha256");
  let bytes = 0;
  using file = await Deno.open(path);
  const chunk = new Uint8Array(1 << 20);
  for (let read = await file.read(chunk); read !== null; read = await file.read(chunk)) {
    hash.update(chunk.subarray(0, read));
    bytes += read;
  }
  return { bytes, sha256: hash.digest("hex") };
}

/** Returns a plain Error with one sentence for an error of the system, such as a full disk. */
export function plainError(action: string, error: unknown): unknown {
  if (!(error instanceof Error)) return error;
  const isOfSystem = Object.values(Deno.errors).some((kind) => error instanceof kind) ||
    "code" in error && error.code === "ERR_SQLITE_ERROR";
  return isOfSystem ? new Error(`Cannot ${action}: ${error.message}`, { cause: error }) : error;
}

export async function synchronize(path: string): Promise<void> {
  using file = await Deno.open(path);
  await file.sync();
}
