import { gunzipSync } from "node:zlib";
import { relative } from "node:path";
import { fileURLToPath } from "node:url";
import { bundledStarter } from "./bundled_starter.ts";

export interface StarterOptions {
  readonly name: string;
  /** The absolute path of the project. */
  readonly folder: string;
  readonly web: boolean;
  readonly database: string | null;
  readonly secret: string;
  readonly version: string;
  readonly origin: Origin;
}

/** The place from which a project loads this package. */
export interface Origin {
  readonly kind: "clone" | "npm" | "jsr";
  /** The path of the clone, or null if the package comes from a registry. */
  readonly clone: string | null;
}

/** Finds the origin by the URL of the main module. In the npm package, this is no `.ts` file. */
export function originOf(program: string): Origin {
  const url = new URL(program);
  if (url.protocol !== "file:") return { kind: "jsr", clone: null };
  if (!url.pathname.endsWith(".ts")) return { kind: "npm", clone: null };
  return { kind: "clone", clone: fileURLToPath(new URL(".", url)) };
}

/** Returns the path of the client's package in a clone, which `deno task npm-client` creates. */
export function packedClient(clone: string, version: string): string {
  return `${clone}npm-client/svc-resource-api-client-${version}.tgz`;
}

export function starterFiles(options: StarterOptions): ReadonlyMap<string, string> {
  const { name, database, secret, web, origin: { kind } } = options;
  // The cast is safe: a test compares the bundle, an object of paths and contents, with the files.
  const sources = JSON.parse(
    new TextDecoder().decode(gunzipSync(Uint8Array.fromBase64(bundledStarter))),
  ) as Readonly<Record<string, string>>;
  const parts = { web, clone: kind === "clone", npm: kind === "npm", deno: kind !== "npm" };
  const files = new Map<string, string>();
  for (const [path, general] of Object.entries(sources)) {
    if (path.startsWith(npmFolder) || (!web && path.startsWith("web/"))) continue;
    const text = parts.npm ? inNpm(sources[npmFolder + path] ?? general) : general;
    const complete = Object.entries(parts).reduce(withPart, text);
    files.set(path, withPackage(complete, options).replaceAll("my-app", name));
  }
  const example = files.get(".env.example") ?? "";
  const own = example.replace(/^SERVICE_SECRET=.*$/m, `SERVICE_SECRET=${secret}`);
  // A string would not be inserted as it is, because `replace` interprets `$` in a string.
  const line = () => `DATABASE='${database}'`;
  files.set(".env", database === null ? own : own.replace(/^DATABASE=.*$/m, line));
  return files;
}

/** The folder whose files replace the files of the same name if a project uses npm. */
const npmFolder = "npm/";

/** Uses npm's commands: `deno task` cannot start the Deno that npm has installed. */
function inNpm(text: string): string {
  return text.replaceAll("deno task cli", "npx resource-api")
    .replaceAll(/deno task (\w+)/g, "npm run $1")
    .replaceAll(/^(?:\|.*\|\n)+/gm, alignTable);
}

function alignTable(table: string): string {
  const rows = table.trim().split("\n")
    .map((row) => row.slice(1, -1).split("|").map((cell) => cell.trim().replace(/^-+$/, "")));
  const widthOf = (column: number) => Math.max(...rows.map((row) => row[column]?.length ?? 0));
  const lines = rows.map((row, index) =>
    row.map((cell, column) => cell.padEnd(widthOf(column), index === 1 ? "-" : " ")).join(" | ")
  );
  return lines.map((line) => `| ${line} |\n`).join("");
}

/** Keeps or removes the parts between the comments `NAME` and `/NAME`, without these comments. */
function withPart(text: string, [name, isKept]: readonly [name: string, isKept: boolean]): string {
  const comment = (words: string) => `^[ \\t]*(?://|#|<!--) ${words}(?: -->\\n)?\\n`;
  const part = RegExp(`${comment(name)}([^]*?)${comment(`/${name}`)}`, "gm");
  return text.replace(part, isKept ? "$1" : "");
}

function withPackage(text: string, { folder, version, origin: { clone } }: StarterOptions): string {
  const pathTo = (path: string, from: string) => relative(from, path).replaceAll("\\", "/");
  const links = clone === null ? "" : `  "links": [${JSON.stringify(pathTo(clone, folder))}],\n`;
  const client = clone === null
    ? `^${version}`
    : `file:${pathTo(packedClient(clone, version), `${folder}/web`)}`;
  return text.replace('  "links": ["../.."],\n', () => links)
    .replace(/(?<=resource-api(?:@|": ")\^)\d+\.\d+\.\d+/, version)
    .replace(/(?<="@svc\/resource-api-client": ")[^"]*/, () => client);
}
