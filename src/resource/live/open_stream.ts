import { addressGroup } from "../../guard/client_address.ts";
import type { LiveHub } from "../../live/live_hub.ts";
import type { StreamRequest } from "../../live/stream/stream_request.ts";
import { Problem } from "../../problem/problem.ts";
import type { Reply } from "../../protocol/reply.ts";
import type { ResourceCall } from "../model/operation.ts";
import type { Resource } from "../model/resource.ts";
import { requireShownToRole } from "./shown_to_role.ts";
import { refusedLiteralProblem } from "../read/refused_literal.ts";

/** The body of a live stream. Null for a HEAD request and in a multiplexed stream. */
export type StreamBody = ReadableStream<Uint8Array> | null;

/** Returns the live hub of a resource's database. Throws a 404 if there is none. */
export function hubOf(resource: Resource): LiveHub {
  const hub = resource.hub();
  // Only a database without subscribable resources has no hub. `authorize` denies its streams.
  if (hub === null) throw new Problem("not-found", "There is nothing at this path");
  return hub;
}

/** Opens a live stream for a call. Returns null for a HEAD request, whose body no client reads. */
export async function openStream(
  { resource, request, user }: ResourceCall,
  open: (caller: Omit<StreamRequest, "view" | "scope" | "filter">) => Promise<StreamBody>,
): Promise<StreamBody> {
  const { raw, delivery } = request;
  if (raw === null || delivery === null) throw new Error("Only a request opens a stream");
  // No client reads the body of a HEAD response, so its stream would never end.
  if (raw.method === "HEAD") return null;
  await requireShownToRole(resource, "live stream");
  // One statement evaluates the filters of many streams. An invalid value would fail it for all.
  const refused = await refusedLiteralProblem(request.query.get("filter"), resource);
  if (refused !== null) throw refused;
  const { url, policy, table, reader } = resource;
  return await open({
    resource: url,
    access: "subscribe",
    policy,
    table,
    reader,
    user,
    sameFieldsAs: resource.sameFieldsAs(),
    address: addressGroup(request.address()),
    disconnected: delivery.delivered() ?? aborted(raw),
    part: delivery.part(),
  });
}

export function streamReply(body: StreamBody): Reply {
  return { status: 200, headers: streamHeaders, body };
}

/** Resolves when the client disconnects. A listener on the signal needs kilobytes of memory. */
function aborted({ signal }: Request): Promise<unknown> {
  if (signal.aborted) return Promise.resolve();
  return new Promise((resolve) => signal.addEventListener("abort", resolve, { once: true }));
}

/**
 * The headers of a stream. Proxies must not cache, buffer or compress it. Caddy 2.6 ignores
 * `no-transform`, and holds back the events of a stream that it compresses.
 */
export const streamHeaders = {
  "content-type": "text/event-stream; charset=utf-8",
  "content-encoding": "identity",
  "cache-control": "no-store, no-transform",
  "x-accel-buffering": "no",
};
