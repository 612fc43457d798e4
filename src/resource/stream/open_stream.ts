import { addressGroup } from "../../guard/client_address.ts";
import type { LiveHub } from "../../live/live_hub.ts";
import type { StreamRequest } from "../../live/stream/stream_request.ts";
import { Problem } from "../../problem/problem.ts";
import type { Reply } from "../../protocol/reply.ts";
import type { ResourceCall } from "../operation.ts";
import type { Resource } from "../define/resource.ts";

/** The bytes of a live stream; null where nobody will read them. */
export type StreamBody = ReadableStream<Uint8Array> | null;

/** Where a resource may be followed. Throws a 404 where it may not. */
export function hubOf(resource: Resource): LiveHub {
  const hub = resource.hub();
  // Where nobody may subscribe there is none either, but then the right was missing before.
  if (hub === null) throw new Problem("not-found", "There is nothing at this path");
  return hub;
}

/** Opens a stream for a call, unless it asks for the head alone. */
export async function openStream(
  { resource, request, user }: ResourceCall,
  open: (
    caller: Omit<StreamRequest, "view" | "scope" | "filter">,
  ) => Promise<ReadableStream<Uint8Array>>,
): Promise<StreamBody> {
  // A stream that nobody will read must not be opened.
  if (request.raw.method === "HEAD") return null;
  const { url, policy, table, reader } = resource;
  return await open({
    resource: url,
    access: "subscribe",
    policy,
    table,
    reader,
    user,
    address: addressGroup(request.address()),
    disconnected: request.delivery.delivered() ?? aborted(request.raw),
  });
}

/** The answer that a stream is. */
export function streamReply(body: StreamBody): Reply {
  return { status: 200, headers: streamHeaders, body };
}

/** Only where nobody else tells: Deno warns of signals, and each costs a stream kilobytes. */
function aborted({ signal }: Request): Promise<unknown> {
  if (signal.aborted) return Promise.resolve();
  return new Promise((resolve) => signal.addEventListener("abort", resolve, { once: true }));
}

/** No proxy may keep a stream, hold it back or pack it anew. */
const streamHeaders = {
  "content-type": "text/event-stream; charset=utf-8",
  "cache-control": "no-store, no-transform",
  "x-accel-buffering": "no",
};
