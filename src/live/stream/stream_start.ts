import type { LiveQuery } from "../live_query.ts";
import type { StreamContext } from "../stream_context.ts";
import { parseResumeToken } from "./resume_token.ts";
import type { SubscribeRequest } from "./stream_request.ts";
import type { StreamStart } from "./subscription_state.ts";

/**
 * Finds out where the stream of a request starts: at the position of its resume token, where the
 * client may resume, else from the beginning.
 */
export async function streamStartOf(
  { resumeFrom, skipExisting }: SubscribeRequest,
  query: LiveQuery,
  { log, feed, resumeTokens }: StreamContext,
): Promise<StreamStart> {
  if (resumeFrom === null) return skipExisting ? "now" : "everything";
  const token = parseResumeToken(resumeFrom);
  const position = token === null ? null : log.parse(token.position);
  // A position that the feed cannot reach is of a history that a restored database has lost.
  if (token === null || position === null || !await feed.readUpTo(position)) {
    return { kind: "fresh", reason: "history_lost" };
  }
  const reason = resumeTokens.invalidationReason(token, query);
  return reason === null ? position : { kind: "fresh", reason };
}
