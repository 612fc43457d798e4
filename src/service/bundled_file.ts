import { Buffer } from "node:buffer";
import { createHash } from "node:crypto";
import { gunzipSync } from "node:zlib";
import type { Reply } from "../protocol/reply.ts";
import { acceptedEncoding } from "../resource/http/accepted_type.ts";
import { listsTag } from "../resource/http/etag.ts";

/** A gzip-compressed file that is bundled in a module of the service. */
export interface BundledFile {
  readonly gzip: Uint8Array<ArrayBuffer>;
  /** The ETag of the file. */
  readonly tag: string;
}

/** Decodes a bundled file, which is gzip in base64. */
export function readBundledFile(base64: string): BundledFile {
  const gzip = new Uint8Array(Buffer.from(base64, "base64"));
  const hash = createHash("sha256").update(gzip).digest("base64url");
  return { gzip, tag: `W/"${hash.slice(0, 22)}"` };
}

/** Returns the response with a bundled file, compressed if the client accepts gzip. */
export function bundledFileReply(
  headers: Headers,
  { gzip, tag }: BundledFile,
  { type, cache }: {
    /** The media type of the file. The charset is added. */
    readonly type: string;
    readonly cache: "public" | "private";
  },
): Reply {
  const cached = { etag: tag, "cache-control": `${cache}, no-cache`, vary: "accept-encoding" };
  if (listsTag(headers.get("if-none-match") ?? "", [tag])) {
    return { status: 304, headers: cached, body: null };
  }
  const typed = { ...cached, "content-type": `${type}; charset=utf-8` };
  return acceptedEncoding(headers, ["gzip"]) !== null
    ? {
      status: 200,
      headers: { ...typed, "content-encoding": "gzip" },
      body: new Blob([gzip]).stream(),
    }
    : { status: 200, headers: typed, body: gunzipSync(gzip).toString() };
}
