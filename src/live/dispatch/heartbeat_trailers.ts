import type { StreamContext } from "../stream_context.ts";
import { commentText, resumeTokenText, toBytes } from "./server_sent_events.ts";
import type { SubscriberGroup } from "./subscriber_group.ts";

/** Returns the heartbeat of each group: its resume token at the feed's position, created once. */
export function heartbeatTrailers(
  { log, feed, resumeTokens, dispatcher }: StreamContext,
): (group: SubscriberGroup) => Uint8Array {
  // During the delivery of a step, only some streams have reached the position of the feed.
  if (dispatcher.isDelivering) return comment;
  const position = log.print(feed.position);
  const trailers = new Map<SubscriberGroup, Uint8Array>();
  return (group) => {
    const trailer = trailers.get(group) ??
      toBytes(resumeTokenText(resumeTokens.create(position, group.queryDigest)));
    trailers.set(group, trailer);
    return trailer;
  };
}

/** Returns a heartbeat without a token. The client keeps its last token. */
function comment(): Uint8Array {
  return toBytes(commentText);
}
