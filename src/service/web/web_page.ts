import type { Reply } from "../../protocol/reply.ts";
import { acceptedEncoding } from "../../resource/http/accepted_type.ts";
import { listsTag } from "../../resource/http/etag.ts";
import type { Observer } from "../../runtime/runtime.ts";
import { createViteProxy } from "./vite_proxy.ts";
import { CompressedFiles, contentOf, isCompressible, openFile } from "./web_contents.ts";
import { listWebFiles, type WebFile, type WebFiles } from "./web_files.ts";
import type { ResolvedWeb } from "./web_options.ts";

/** The page of a service, which responds to the paths that no route matches. */
export interface WebPage {
  /** Returns true if the page may respond to a raw path. Other paths belong to the service. */
  covers(path: string): boolean;
  /** Returns the response to GET or HEAD for a raw path, or null if the page has none. */
  answer(request: Request, path: string): Promise<Reply | null>;
  /** Lists the files again. If this fails, the previous list stays. */
  list(): void;
}

/** Opens the page of a service. Throws a plain Error if the folder or its page is missing. */
export async function openWebPage(web: ResolvedWeb, observe: Observer): Promise<WebPage> {
  const covers = (path: string) => nameOf(path, web) !== null;
  if (web.dev !== null) return { covers, answer: createViteProxy(web.dev, web), list() {} };
  let listing = new Listing(await listWebFiles(web), web);
  const replace = async () => void (listing = new Listing(await listWebFiles(web), web));
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

/**
 * Returns the decoded path of a request. Returns null if no file can have this path, because the
 * path belongs to the service, or is not one that a browser sends.
 */
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

/** The files as they were listed, and the bytes that the service has compressed. */
class Listing {
  readonly #files: WebFiles;
  readonly #web: ResolvedWeb;
  readonly #compressed = new CompressedFiles();

  constructor(files: WebFiles, web: ResolvedWeb) {
    this.#files = files;
    this.#web = web;
  }

  async answer(request: Request, path: string): Promise<Reply | null> {
    const name = this.#find(request, path);
    const file = this.#files.get(name);
    if (file === undefined) return null;
    return await fileReply(request, file, await this.#choose(request, name, file));
  }

  /** Returns the name of the file for a request. There may be no file with this name. */
  #find({ headers }: Request, path: string): string {
    const { spa } = this.#web;
    const name = nameOf(path, this.#web) ?? "";
    const asked = name.endsWith("/") ? `${name}index.html` : name;
    // The name of a file contains no slash, so no file has a path with an encoded slash.
    if (this.#files.has(asked) && !/%2f/i.test(path)) return asked;
    // A name with an extension is that of a file, as are names of hidden files.
    const isPage = spa !== false && !/^$|\/\.|\.[^/]*$/.test(name) && isNavigation(headers);
    return isPage ? `/${spa}` : "";
  }

  /** Chooses the encoding of a file: an encoded file in the same folder, or else gzip. */
  async #choose({ headers }: Request, name: string, file: WebFile): Promise<Choice> {
    const encoded = ([["br", ".br"], ["gzip", ".gz"]] as const).flatMap(([encoding, ending]) => {
      const source = this.#files.get(name + ending);
      return source === undefined ? [] : [{ encoding, source }];
    });
    const own = encoded.length === 0 && isCompressible(file) ? ["gzip"] : [];
    const offered = [...own, ...encoded.map(({ encoding }) => encoding)];
    const encoding = acceptedEncoding(headers, offered);
    const varies = offered.length > 0;
    const found = encoded.find((one) => one.encoding === encoding);
    if (found !== undefined) return { ...found, varies, bytes: null };
    const bytes = encoding === null ? null : await this.#compressed.gzip(file);
    return { encoding: bytes === null ? null : encoding, source: file, varies, bytes };
  }
}

/** How a file is sent: with an encoding or without one, and from where. */
interface Choice {
  readonly encoding: string | null;
  readonly source: WebFile;
  /** The bytes to send. Null if the service sends the file `source`. */
  readonly bytes: Uint8Array<ArrayBuffer> | null;
  /** True if the encoding depends on the request. */
  readonly varies: boolean;
}

async function fileReply(
  { method, headers: given }: Request,
  file: WebFile,
  { encoding, source, bytes, varies }: Choice,
): Promise<Reply | null> {
  const encoded = {
    ...(varies ? { vary: "accept-encoding" } : {}),
    ...(encoding === null ? {} : { "content-encoding": encoding }),
  };
  const etag = `"${file.hash}${encoding === null ? "" : `-${encoding}`}"`;
  const headers = { ...file.headers, ...encoded, etag };
  if (listsTag(given.get("if-none-match") ?? "", [`"${file.hash}"`])) {
    return { status: 304, headers, body: null };
  }
  const isHead = method === "HEAD";
  const content = bytes === null
    ? isHead ? { size: source.size, isListed: true, body: null } : await openFile(source)
    : contentOf(bytes);
  if (content === null) return null;
  const { size, isListed, body } = content;
  // The tag and the age belong to the bytes that were listed.
  const current = isListed
    ? headers
    : { ...encoded, "content-type": file.type, "cache-control": "no-store" };
  if (isHead) await body?.cancel();
  return {
    status: 200,
    headers: { ...current, "content-length": String(size) },
    body: isHead ? null : body,
  };
}

function isNavigation(headers: Headers): boolean {
  const mode = headers.get("sec-fetch-mode");
  return mode === null
    ? (headers.get("accept") ?? "").toLowerCase().includes("text/html")
    : mode === "navigate";
}
