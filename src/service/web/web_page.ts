import type { Reply } from "../../protocol/reply.ts";
import { acceptedEncoding } from "../../resource/http/accepted_type.ts";
import { listsTag } from "../../resource/http/etag.ts";
import { createYieldTurn, type Runtime } from "../../runtime/runtime.ts";
import { createViteProxy } from "./vite_proxy.ts";
import { CompressedFiles, type Content, isCompressible, openFile } from "./web_contents.ts";
import { listWebFiles, type WebFile, type WebFiles } from "./web_files.ts";
import type { ResolvedWeb } from "./web_options.ts";

export interface WebPage {
  covers(path: string): boolean;
  answer(request: Request, path: string): Promise<Reply | null>;
  /** Lists the files again. If this fails, the previous list stays. */
  list(): void;
}

export async function openWebPage(
  web: ResolvedWeb,
  { clock, observe }: Pick<Runtime, "clock" | "observe">,
): Promise<WebPage> {
  const covers = (path: string) => nameOf(path, web) !== null;
  if (web.dev !== null) return { covers, answer: createViteProxy(web.dev, web), list() {} };
  const list = (previous: WebFiles | null) =>
    listWebFiles(web, { previous, yieldTurn: createYieldTurn(clock) });
  let listing = new Listing(await list(null), web);
  const replace = async () => void (listing = new Listing(await list(listing.files), web));
  return {
    covers,
    answer: async (request, path) => await listing.answer(request, path),
    list: () =>
      void replace().catch((error: Error) => {
        const reason = error.message.replace("Cannot start: ", "");
        observe({ kind: "notice", message: `the page stays as it is: ${reason}` });
      }),
  };
}

/** Returns null if no file can have this path: the service uses it, or no browser sends it. */
function nameOf(path: string, { reserved }: ResolvedWeb): string | null {
  let name: string;
  try {
    name = decodeURIComponent(path);
  } catch {
    return null;
  }
  if (/^\/\/|[\p{Cc}\\]|(?:^|\/)\.{1,2}(?:\/|$)/u.test(name)) return null;
  return reserved.some((one) => name === one || name.startsWith(`${one}/`)) ? null : name;
}

class Listing {
  readonly files: WebFiles;
  readonly #web: ResolvedWeb;
  readonly #compressed = new CompressedFiles();

  constructor(files: WebFiles, web: ResolvedWeb) {
    this.files = files;
    this.#web = web;
  }

  async answer(request: Request, path: string): Promise<Reply | null> {
    const folder = this.#folderOf(request, path);
    if (folder !== null) {
      // Without `no-cache`, a browser would keep the redirect when a later build has other paths.
      const headers = { location: folder, "cache-control": "no-cache" };
      return { status: 308, headers, body: null };
    }
    const name = this.#find(request, path);
    const file = this.files.get(name);
    if (file === undefined) return null;
    const variants = this.#variantsOf(name, file);
    const headersOf = (encoding: string | null) => ({
      ...file.headers,
      ...(variants.size === 0 ? {} : { vary: "accept-encoding" }),
      ...(encoding === null ? {} : { "content-encoding": encoding }),
      etag: `"${file.hash}${encoding === null ? "" : `-${encoding}`}"`,
    });
    const encoding = acceptedEncoding(request.headers, [...variants.keys()]);
    if (listsTag(request.headers.get("if-none-match") ?? "", [`"${file.hash}"`])) {
      return { status: 304, headers: headersOf(encoding), body: null };
    }
    const encoded = await variants.get(encoding ?? "")?.() ?? null;
    const content = encoded ?? await openFile(file);
    if (content === null) return null;
    const { etag, ...untagged } = headersOf(encoded === null ? null : encoding);
    // If the file has changed since it was listed, the listed ETag does not belong to its bytes.
    const headers = content.isListed
      ? { ...untagged, etag }
      : { ...untagged, "cache-control": "no-store" };
    const length = { "content-length": String(content.size) };
    return { status: 200, headers: { ...headers, ...length }, body: content.body };
  }

  #folderOf({ url }: Request, path: string): string | null {
    const name = nameOf(path, this.#web);
    const isFolder = name !== null && !this.files.has(name) &&
      !/\/$|%2f/i.test(path) && this.files.has(`${name}/index.html`);
    // Without the `./`, a name with a colon would be read as a URL scheme.
    return isFolder ? `./${path.slice(path.lastIndexOf("/") + 1)}/${new URL(url).search}` : null;
  }

  /** Returns the name of the file for a request. There may be no file with this name. */
  #find({ headers }: Request, path: string): string {
    const { spa } = this.#web;
    const name = nameOf(path, this.#web) ?? "";
    const asked = name.endsWith("/") ? `${name}index.html` : name;
    // The name of a file contains no slash, so no file has a path with an encoded slash.
    if (this.files.has(asked) && !/%2f/i.test(path)) return asked;
    // Names with an extension and names of hidden files are not names of pages.
    const isPage = spa !== false && !/^$|\/\.|\.[^/]*$/.test(name) && isNavigation(headers);
    return isPage ? `/${spa}` : "";
  }

  #variantsOf(name: string, file: WebFile): ReadonlyMap<string, () => Promise<Content | null>> {
    const variants = new Map<string, () => Promise<Content | null>>();
    for (const [encoding, ending] of [["br", ".br"], ["gzip", ".gz"]] as const) {
      const encoded = this.files.get(name + ending);
      if (encoded !== undefined) variants.set(encoding, () => openFile(encoded));
    }
    if (variants.size === 0 && isCompressible(file)) {
      variants.set("gzip", () => this.#compressed.gzip(file));
    }
    return variants;
  }
}

function isNavigation(headers: Headers): boolean {
  const mode = headers.get("sec-fetch-mode");
  return mode === null
    ? (headers.get("accept") ?? "").toLowerCase().includes("text/html")
    : mode === "navigate";
}
