import type { Stats } from "node:fs";
import { type FileHandle, open, realpath } from "node:fs/promises";
import { COMPRESSIBLE_CONTENT_TYPE_REGEX } from "@hono/hono/utils/compress";
import { ifReadable } from "../../runtime/files/optional_file.ts";
import { stateOf, type WebFile } from "./web_files.ts";

type Bytes = Uint8Array<ArrayBuffer>;

export interface Content {
  readonly size: number;
  /** False if the file has changed since it was listed. */
  readonly isListed: boolean;
  readonly body: ReadableStream<Bytes>;
}

function contentOf(bytes: Bytes): Content {
  return { size: bytes.length, isListed: true, body: new Blob([bytes]).stream() };
}

/** Opens a listed file. Returns null if the file is gone, or if its path now contains a link. */
export async function openFile({ path, bytes, state }: WebFile): Promise<Content | null> {
  if (bytes !== null) return contentOf(bytes);
  const handle = await ifReadable(
    path,
    async () => await realpath(path) === path ? await open(path) : null,
  );
  if (handle === null) return null;
  const found = await handle.stat();
  if (!found.isFile()) {
    await handle.close();
    return null;
  }
  return { size: found.size, isListed: stateOf(found) === state, body: partsOf(handle, found) };
}

/** Returns a stream that reads a part only when the client has received the previous part. */
function partsOf(handle: FileHandle, { size, mtimeMs }: Stats): ReadableStream<Bytes> {
  let at = 0;
  return new ReadableStream({
    async pull(controller) {
      const part = new Uint8Array(Math.min(partSize, size - at));
      const { bytesRead } = await handle.read(part, 0, part.length, at);
      at += bytesRead;
      const isLast = at >= size || bytesRead === 0;
      // An error before the last part lets the client refuse a mixture of an old and a new file.
      if (isLast && (await handle.stat()).mtimeMs !== mtimeMs) {
        await handle.close();
        return controller.error(new Error("The file was overwritten while it was sent"));
      }
      if (bytesRead > 0) controller.enqueue(part.subarray(0, bytesRead));
      if (!isLast) return;
      await handle.close();
      // If the file became shorter, the client refuses the response, which has too few bytes.
      controller.close();
    },
    cancel: () => handle.close(),
  }, { highWaterMark: 0 });
}

const partSize = 64 * 1_024;

export function isCompressible({ type, size }: WebFile): boolean {
  return size >= minCompressed && COMPRESSIBLE_CONTENT_TYPE_REGEX.test(type);
}

/** The compressed files of one listing. Their number of bytes has a limit. */
export class CompressedFiles {
  #left = maxCompressed;
  readonly #kept = new Map<WebFile, Promise<Bytes | null>>();
  #last: Promise<unknown> = Promise.resolve();

  /** Returns the gzip of a file, compressed once. Null at the limit, or if the file has changed. */
  async gzip(file: WebFile): Promise<Content | null> {
    const bytes = await (this.#kept.get(file) ?? this.#keep(file));
    return bytes && contentOf(bytes);
  }

  async #keep(file: WebFile): Promise<Bytes | null> {
    if (file.size > this.#left) return null;
    this.#left -= file.size;
    // Compresses one file at a time, so that other requests do not wait for many files.
    const made = this.#last.then(() => compress(file)).catch(() => null);
    this.#last = made;
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

/** Compressing a smaller file would not save a packet. */
const minCompressed = 1_024;
const maxCompressed = 32 * 1_024 * 1_024;
