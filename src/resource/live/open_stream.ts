import { addressGroup } from "../../guard/client_address.ts";
import type { LiveHub } from "../../live/live_hub.ts";
import type { StreamRequest } from "../../live/stream/stream_request.ts";
import { Problem } from "../../problem/problem.ts";
import type { Reply } from "../../protocol/reply.ts";
import type { ResourceCall } from "../model/operation.ts";
import type { Resource } from "../model/resource.ts";
import { requireShownToRole } from "./shown_to_role.ts";
import { refusedLiteral } from "../read/refused_literal.ts";

/** The body of an opened live stream; null for a HEAD request, and for a part of another stream. */
export type StreamBody = ReadableStream<Uint8Array> | null;

/** The hub that opens a resource's live streams. Throws a 404 where there is none. */
export function hubOf(resource: Resource): LiveHub {
  const hub = resource.hub();
  // Without a subscribable resource there is none either, but then the grant has failed before.
  if (hub === null) throw new Problem("not-found", "There is nothing at this path");
  return hub;
}

/** Opens a live stream for a call, unless it is a HEAD request. */
export async function openStream(
  { resource, request, user }: ResourceCall,
  open: (
    caller: Omit<StreamRequest, "view" | "scope" | "filter">,
  ) => Promise<StreamBody>,
): Promise<StreamBody> {
  const { raw, delivery } = request;
  if (raw === null || delivery === null) throw new Error("Only a request opens a stream");
  // The body of HEAD is never read, so its stream would stay open.
  if (raw.method === "HEAD") return null;
  await requireShownToRole(resource, "live stream");
  // The database evaluates the filters of many streams together: one value would end all of them.
  const refused = await refusedLiteral(request.query.get("filter"), resource);
  if (refused !== null) throw refused;
  const { url, policy, table, reader } = resource;
  return await open({
    resource: url,
    access: "subscribe",
    policy,
    table,
    reader,
    user,
    keepsFields: resource.keepsFields(),
    address: addressGroup(request.address()),
    disconnected: delivery.delivered() ?? aborted(raw),
    part: delivery.part(),
  });
}

/** The reply that sends an opened live stream. */
export function streamReply(body: StreamBody): Reply {
  return { status: 200, headers: streamHeaders, body };
}

/** Only where the listener reports no delivery: Deno warns of the signal, which costs kilobytes. */
function aborted({ signal }: Request): Promise<unknown> {
  if (signal.aborted) return Promise.resolve();
  return new Promise((resolve) => signal.addEventListener("abort", resolve, { once: true }));
}

/** The headers of a stream, which no proxy may cache, buffer or recompress. */
export const streamHeaders = {
  "content-type": "text/event-stream; charset=utf-8",
  "cache-control": "no-store, no-transform",
  "x-accel-buffering": "no",
};
