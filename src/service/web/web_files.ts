import { createHash } from "node:crypto";
import { createReadStream, type Stats } from "node:fs";
import { access, readdir, readFile, realpath, stat } from "node:fs/promises";
import { dirname, join, sep } from "node:path";
import { getMimeType } from "@hono/hono/utils/mime";
import type { YieldTurn } from "../../runtime/runtime.ts";
import type { ResolvedWeb } from "./web_options.ts";
import { policyOf } from "./web_policy.ts";

export interface WebFile {
  readonly path: string;
  readonly size: number;
  readonly state: string;
  /** The SHA-256 hash of the bytes, in base64url. */
  readonly hash: string;
  readonly type: string;
  readonly headers: Readonly<Record<string, string>>;
  /** The bytes of an HTML page: its policy is valid only for these bytes. Null for other files. */
  readonly bytes: Uint8Array<ArrayBuffer> | null;
}

/** The files of the page by their decoded paths, such as `/assets/app.js`. */
export type WebFiles = ReadonlyMap<string, WebFile>;

/** Reads only files that changed since the previous list. Throws if folder or page is missing. */
export async function listWebFiles(
  web: ResolvedWeb,
  { previous, yieldTurn }: { readonly previous: WebFiles | null; readonly yieldTurn: YieldTurn },
): Promise<WebFiles> {
  const { folder, spa } = web;
  const root = await realpath(folder).catch(() => null);
  if (root === null) throw await missing(folder, "is not there");
  if (!(await stat(root)).isDirectory()) throw await missing(folder, "is not a folder");
  const files = new Map<string, WebFile>();
  for await (const [name, path] of walk(root, "", [root])) {
    files.set(name, await describe(name, path, { web, previous }));
    await yieldTurn();
  }
  if (spa === false || files.has(`/${spa}`)) return files;
  throw await missing(folder, `contains no ${spa}`);
}

async function missing(folder: string, reason: string): Promise<Error> {
  const project = dirname(folder);
  const isPackage = await access(join(project, "package.json")).then(() => true, () => false);
  const advice = isPackage ? `npm --prefix ${project} run build` : "build the page first";
  const message = `Cannot start: web.folder is ${folder}, which ${reason} (${advice})`;
  return Object.assign(new Error(message), { name: pageErrorName });
}

/** The `name` of errors about the page's files. Their class is Error and not `Problem`. */
export const pageErrorName = "WebPageError";

/** Yields each file with its name. `above` are the folders that contain this folder. */
async function* walk(
  folder: string,
  prefix: string,
  above: readonly string[],
): AsyncGenerator<readonly [name: string, path: string]> {
  const [root = ""] = above;
  for (const entry of await readdir(folder)) {
    const name = `${prefix}/${entry}`;
    // A link may lead nowhere, out of the folder, to a hidden file, or to a folder above itself.
    const path = await realpath(join(folder, entry)).catch(() => null);
    if (path === null || !path.startsWith(root + sep) || above.includes(path)) continue;
    if (isHidden(name) || isHidden(path.slice(root.length).replaceAll(sep, "/"))) continue;
    const found = await stat(path);
    if (found.isDirectory()) yield* walk(path, name, [...above, path]);
    else if (found.isFile()) yield [name, path];
  }
}

/** True for dot files except in `/.well-known/` (RFC 8615), and for source maps. */
function isHidden(name: string): boolean {
  return /\/\.(?!well-known(?:\/|$))|\.map(?:\.br|\.gz)?$/i.test(name);
}

async function describe(
  name: string,
  path: string,
  { web, previous }: { readonly web: ResolvedWeb; readonly previous: WebFiles | null },
): Promise<WebFile> {
  const found = await stat(path);
  const state = stateOf(found);
  const before = previous?.get(name);
  if (before?.path === path && before.state === state) return before;
  const type = getMimeType(name) ?? "application/octet-stream";
  const { size } = found;
  const isHtml = type.includes("html");
  const content = isHtml || size <= maxWhole ? new Uint8Array(await readFile(path)) : null;
  const bytes = isHtml ? content : null;
  const hash = createHash("sha256");
  for await (const part of content === null ? createReadStream(path) : [content]) hash.update(part);
  const policy = bytes && policyOf(new TextDecoder().decode(bytes), web);
  const headers = {
    "content-type": type,
    "cache-control": hashedAsset.test(name)
      ? `public, max-age=${web.maxAge}, immutable`
      : "no-cache",
    ...(policy === null ? {} : { "content-security-policy": policy }),
  };
  return { path, size, state, hash: hash.digest("base64url"), type, headers, bytes };
}

/** The maximum size of files that are read as a whole, which is faster than a stream, in bytes. */
const maxWhole = 65_536;

export function stateOf({ ino, size, mtimeMs, ctimeMs }: Stats): string {
  return [ino, size, mtimeMs, ctimeMs].join(" ");
}

/** Matches names with a hash (Vite, esbuild): `app-BxA1_9zK.js`, but not `logo-portrait.svg`. */
const hashedAsset = /^\/assets\/.*-(?=[\w-]*[A-Z\d_])(?:[\w-]{8}|\w{9,})\.\w+$/;
