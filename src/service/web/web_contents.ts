import { open, realpath } from "node:fs/promises";
import { Readable } from "node:stream";
import { COMPRESSIBLE_CONTENT_TYPE_REGEX } from "@hono/hono/utils/compress";
import type { WebFile } from "./web_files.ts";

type Bytes = Uint8Array<ArrayBuffer>;

/** The content of a response. */
export interface Content {
  readonly size: number;
  /** False if the file has changed since it was listed. */
  readonly isListed: boolean;
  readonly body: ReadableStream<Bytes>;
}

export function contentOf(bytes: Bytes): Content {
  return { size: bytes.length, isListed: true, body: new Blob([bytes]).stream() };
}

/** Opens a listed file. Returns null if the file is gone, or if its path now contains a link. */
export async function openFile(file: WebFile): Promise<Content | null> {
  const { path, bytes } = file;
  if (bytes !== null) return contentOf(bytes);
  if (await realpath(path).catch(() => null) !== path) return null;
  const handle = await open(path).catch(() => null);
  if (handle === null) return null;
  const { size, mtimeMs } = await handle.stat();
  const isListed = size === file.size && mtimeMs === file.mtimeMs;
  if (size > 0) return { size, isListed, body: toWeb(handle.createReadStream({ end: size - 1 })) };
  await handle.close();
  return { ...contentOf(new Uint8Array()), isListed };
}

function toWeb(readable: Readable): ReadableStream<Bytes> {
  // The cast is safe: the stream of Node has the same interface, but another declaration.
  return Readable.toWeb(readable) as unknown as ReadableStream<Bytes>;
}

/** Returns true for a file that the service itself compresses. */
export function isCompressible({ type, size }: WebFile): boolean {
  return size >= minCompressed && COMPRESSIBLE_CONTENT_TYPE_REGEX.test(type);
}

/** The compressed files of one listing. Their number of bytes has a limit. */
export class CompressedFiles {
  #left = maxCompressed;
  readonly #kept = new Map<WebFile, Promise<Bytes | null>>();

  /** Returns the gzip of a file, compressed once. Null if there is no room, or no such file. */
  async gzip(file: WebFile): Promise<Bytes | null> {
    const known = this.#kept.get(file);
    if (known !== undefined) return await known;
    if (file.size > this.#left) return null;
    this.#left -= file.size;
    const made = compress(file);
    this.#kept.set(file, made);
    const bytes = await made;
    this.#left += file.size - (bytes?.length ?? 0);
    return bytes;
  }
}

async function compress(file: WebFile): Promise<Bytes | null> {
  const opened = await openFile(file);
  if (opened === null) return null;
  // A stream compresses in parts, so that other requests are handled between two parts.
  const zipped = new Response(opened.body.pipeThrough(new CompressionStream("gzip")));
  const bytes = new Uint8Array(await zipped.arrayBuffer());
  return opened.isListed ? bytes : null;
}

/** Smaller files would not need fewer packets. */
const minCompressed = 1_024;
const maxCompressed = 32 * 1_024 * 1_024;
