import { Buffer } from "node:buffer";
import { createHash } from "node:crypto";
import { gunzipSync } from "node:zlib";
import type { Reply } from "../../protocol/reply.ts";
import type { ServicePage } from "../service_pages.ts";
import { acceptsGzip } from "./accepts_gzip.ts";

/** The files of the client, by their paths below `/__service/`. */
const files = { "client.js": "Client", "client/find_nonce.js": "ClientSolver" } as const;

/**
 * Makes the pages of the client as a script, for pages without a build step: the same public code in
 * every service. The files are read when they are first asked for.
 */
export function createClientPages(): readonly ServicePage[] {
  return Object.entries(files).map(([name, id]): ServicePage => {
    const path = `/__service/${name}`;
    let file: ClientFile | null = null;
    return {
      path,
      description: {
        ...{ id: `describe${id}`, tag: "Service", needsUser: false },
        summary: `The client for pages without a build step: ${name}`,
        answers: { 200: { type: scriptType, schema: { type: "string" } }, 304: null },
        problems: ["invalid-parameter", "internal-error"],
      },
      isOpen: true,
      at: (requested) =>
        requested === path
          ? async ({ raw: { headers } }) => replyOf(headers, file ??= await readFile(name))
          : null,
    };
  });
}

const scriptType = "text/javascript";

interface ClientFile {
  readonly gzip: Uint8Array<ArrayBuffer>;
  readonly tag: string;
}

async function readFile(name: string): Promise<ClientFile> {
  const { bundledClient } = await import("./bundled_client.ts");
  const gzip = new Uint8Array(Buffer.from(bundledClient[name] ?? "", "base64"));
  const hash = createHash("sha256").update(gzip).digest("base64url");
  return { gzip, tag: `W/"${hash.slice(0, 22)}"` };
}

function replyOf(headers: Headers, { gzip, tag }: ClientFile): Reply {
  const cached = { etag: tag, "cache-control": "public, no-cache", vary: "accept-encoding" };
  if (headers.get("if-none-match")?.includes(tag)) {
    return { status: 304, headers: cached, body: null };
  }
  const typed = { ...cached, "content-type": `${scriptType}; charset=utf-8` };
  return acceptsGzip(headers.get("accept-encoding") ?? "")
    ? {
      status: 200,
      headers: { ...typed, "content-encoding": "gzip" },
      body: new Blob([gzip]).stream(),
    }
    : { status: 200, headers: typed, body: gunzipSync(gzip).toString() };
}
