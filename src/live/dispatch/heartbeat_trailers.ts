import { printLogPosition } from "../../db/changes/log_position.ts";
import type { StreamContext } from "../stream_context.ts";
import { commentText, resumeTokenText, toBytes } from "./server_sent_events.ts";
import type { SubscriberGroup } from "./subscriber_group.ts";

/** Returns a function that creates a group's heartbeat, with a resume token for all its streams. */
export function heartbeatTrailers(
  { feed, resumeTokens, dispatcher }: StreamContext,
): (group: SubscriberGroup) => Uint8Array {
  // During a delivery, some streams lack events up to the feed's position, so no token is sent.
  if (dispatcher.isDelivering) return () => toBytes(commentText);
  const position = printLogPosition(feed.position);
  const trailers = new Map<SubscriberGroup, Uint8Array>();
  return (group) => {
    const trailer = trailers.get(group) ??
      toBytes(resumeTokenText(resumeTokens.create(position, group.queryDigest)));
    trailers.set(group, trailer);
    return trailer;
  };
}
