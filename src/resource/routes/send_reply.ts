import type { Access } from "../../auth/scope.ts";
import type { Reply } from "../../protocol/reply.ts";
import { longText } from "../../protocol/text_stream.ts";
import { type MaybePromise, then } from "../../runtime/maybe_promise.ts";
import { DataReply, safeReply } from "../http/json_reply.ts";
import { LargeReply } from "../http/large_reply.ts";
import type { RecordReply, ResourceRequest, ShapedReply } from "../model/operation.ts";
import type { Resource } from "../model/resource.ts";

/** The parts of a request that its reply is written with. */
type Sending = Pick<ResourceRequest, "delivery" | "safeNumbers">;

/**
 * Writes the reply to a request. A long reply in one piece counts as in flight until its client has
 * received it.
 */
export function sendReply(
  shaped: ShapedReply,
  access: Access,
  request: Sending,
  resource: Resource,
): MaybePromise<Reply> {
  return then(writeReply(shaped, request, resource), (reply) => {
    const { body } = reply;
    const { delivery } = request;
    if (delivery !== null && typeof body === "string" && body.length >= longText) {
      resource.sending.add(body, delivery, access !== "read");
    }
    return reply;
  });
}

/** Returns what writes the reply to a request and then stores it, in the transaction of the write. */
export function recordWritten(
  record: RecordReply,
  request: Sending,
  resource: Resource,
): NonNullable<ResourceRequest["record"]> {
  return async (shaped, connection) =>
    await record(await writeReply(shaped, request, resource), connection);
}

function writeReply(
  shaped: ShapedReply,
  { delivery, safeNumbers }: Sending,
  { sending }: Resource,
): MaybePromise<Reply> {
  const given = safeNumbers ? safeReply(shaped) : shaped;
  const reply = given instanceof DataReply ? given.write() : given;
  if (!(reply instanceof LargeReply)) return reply;
  if (delivery === null) throw new Error("Only the reply to a request is written");
  return sending.write(reply, delivery);
}
