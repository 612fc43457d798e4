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
  /** The path of a clone of this package, or null if the package comes from a registry. */
  readonly clone: string | null;
}

/** Returns the path of the clone to which a command line belongs. Only a clone has TypeScript. */
export function cloneOf(program: string): string | null {
  const url = new URL(program);
  return url.protocol === "file:" && url.pathname.endsWith(".ts")
    ? fileURLToPath(new URL(".", url))
    : null;
}

/** Returns the path of the packed client in a clone. `deno task npm-client` writes it. */
export function packedClient(clone: string, version: string): string {
  return `${clone}npm-client/svc-resource-api-client-${version}.tgz`;
}

export function starterFiles(options: StarterOptions): ReadonlyMap<string, string> {
  const { name, database, secret } = options;
  // The cast is safe: a test compares the bundle with the files.
  const sources = JSON.parse(
    new TextDecoder().decode(gunzipSync(Uint8Array.fromBase64(bundledStarter))),
  ) as Readonly<Record<string, string>>;
  const files = new Map(
    Object.entries(sources)
      .filter(([path]) => options.web || !path.startsWith("web/"))
      .map(([path, text]) => [path, withPackage(withParts(text, options.web), options)]),
  );
  for (const [path, text] of files) files.set(path, text.replaceAll("my-app", name));
  const example = files.get(".env.example") ?? "";
  const own = example.replace(/^SERVICE_SECRET=.*$/m, `SERVICE_SECRET=${secret}`);
  // A function, because `$` has a meaning in a replacement string.
  const line = () => `DATABASE='${database}'`;
  files.set(".env", database === null ? own : own.replace(/^DATABASE=.*$/m, line));
  return files;
}

/** Keeps or removes the parts between the comments `web` and `/web`, and removes these comments. */
function withParts(text: string, web: boolean): string {
  const parts =
    /^[ \t]*(?:\/\/|#|<!--) web(?: -->\n)?\n([^]*?)^[ \t]*(?:\/\/|#|<!--) \/web(?: -->\n)?\n/gm;
  return text.replace(parts, web ? "$1" : "");
}

function withPackage(text: string, { folder, version, clone }: StarterOptions): string {
  const pathTo = (path: string, from: string) => relative(from, path).replaceAll("\\", "/");
  const links = clone === null ? "" : `  "links": [${JSON.stringify(pathTo(clone, folder))}],\n`;
  const client = clone === null
    ? `^${version}`
    : `file:${pathTo(packedClient(clone, version), `${folder}/web`)}`;
  return text.replace('  "links": ["../.."],\n', () => links)
    .replace(/(?<=resource-api@\^)\d+\.\d+\.\d+/, version)
    .replace(/(?<="@svc\/resource-api-client": ")[^"]*/, () => client);
}
