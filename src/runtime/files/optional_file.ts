import { readFile } from "node:fs/promises";
import { isDeno } from "../host.ts";

export async function readOptionalFile(path: string): Promise<string | null> {
  return await ifReadable(path, () => readFile(path, "utf8"));
}

/** Returns the result of `read`, or null if a file is absent or the process cannot read it. */
export async function ifReadable<T>(
  path: string,
  read: (path: string) => Promise<T>,
): Promise<T | null> {
  // Without this test, Deno would ask at the terminal for the permission.
  const state = isDeno ? await Deno.permissions.query({ name: "read", path }) : null;
  if (state !== null && state.state !== "granted") return null;
  try {
    return await read(path);
  } catch (error) {
    if (error instanceof Error && "code" in error && absent.has(String(error.code))) return null;
    throw error;
  }
}

const absent: ReadonlySet<string> = new Set(["ENOENT", "ENOTDIR", "EACCES", "EPERM", "EISDIR"]);
