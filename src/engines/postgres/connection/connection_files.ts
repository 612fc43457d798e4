import { stat } from "node:fs/promises";
import { platform } from "node:os";
import { readOptionalFile } from "../../../runtime/files/optional_file.ts";
import { keywords, type Lookup, refuse } from "./keywords.ts";

/** Returns the path of a file in the home folder. */
export function userFile(name: string, environment: Lookup): string {
  return `${environment("HOME") ?? ""}/${name}`;
}

/** Returns the parameters of a service, from the first service file that contains the service. */
export async function readService(
  name: string,
  file: string | undefined,
  environment: Lookup,
): Promise<ReadonlyMap<string, string>> {
  const first = file ?? userFile(".pg_service.conf", environment);
  const folder = environment("PGSYSCONFDIR") ?? "/etc/postgresql-common";
  for (const path of [first, `${folder}/pg_service.conf`]) {
    const text = await readOptionalFile(path);
    if (text === null && path === file) refuse("the file of PGSERVICEFILE cannot be read");
    const found = serviceOf(text ?? "", name);
    if (found !== null) return found;
  }
  refuse(`no service file defines the service "${name}"`);
}

function serviceOf(text: string, name: string): ReadonlyMap<string, string> | null {
  const lines = text.split("\n").map((line) => line.trim());
  const start = lines.findIndex((line) => line.startsWith(`[${name}]`));
  const found = new Map<string, string>();
  for (let at = start + 1; start >= 0 && lines[at]?.startsWith("[") === false; at++) {
    const [line, keyword = "", value = ""] = /^([^=#]*)=(.*)$/.exec(lines[at] ?? "") ?? [];
    if (line === undefined && /^(?:#|$)/.test(lines[at] ?? "")) continue;
    if (!Object.hasOwn(keywords, keyword) || keyword.startsWith("service")) {
      refuse(`line ${at + 1} of the service file, in [${name}], sets no known parameter`);
    }
    if (!found.has(keyword)) found.set(keyword, value);
  }
  return start < 0 ? null : found;
}

/** Returns a password file's password. As in libpq, a file that others may read is ignored. */
export async function readPassword(path: string, of: readonly string[]): Promise<string | null> {
  const text = await readOptionalFile(path);
  // Windows has no such modes.
  const isOpen = text !== null && platform() !== "win32" && ((await stat(path)).mode & 0o077) !== 0;
  for (const line of isOpen ? [] : text?.split(/\r?\n/) ?? []) {
    const fields = passwordLine.exec(line)?.slice(1) ?? [];
    const plain = fields.map((field) => field.replaceAll(/\\(.)/g, "$1"));
    const matches = of.every((value, at) => fields[at] === "*" || plain[at] === value);
    if (matches) return plain[of.length] ?? null;
  }
  return null;
}

const passwordLine = new RegExp(`^(?!#)${"((?:\\\\.|[^:\\\\])*):".repeat(4)}(.*)$`);
