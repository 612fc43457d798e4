import type { LiveQuery } from "../live_query.ts";
import type { StreamContext } from "../stream_context.ts";
import { parseResumeToken } from "./resume_token.ts";
import type { SubscribeRequest } from "./stream_request.ts";
import type { StreamStart } from "./subscription_state.ts";

/**
 * Returns the start of a stream: the position of its resume token if the client may resume,
 * otherwise the beginning.
 */
export async function streamStartOf(
  { resumeFrom, skipExisting }: SubscribeRequest,
  query: LiveQuery,
  { log, feed, resumeTokens }: StreamContext,
): Promise<StreamStart> {
  if (resumeFrom === null) return skipExisting ? "now" : "everything";
  const token = parseResumeToken(resumeFrom);
  const position = token === null ? null : log.parse(token.position);
  const lost = { kind: "fresh", reason: "history_lost" } as const;
  if (token === null || position === null) return lost;
  const reason = resumeTokens.invalidationReason(token, query);
  // Only a position with a correct seal was issued, and can prove that a database was restored.
  if (reason === null && !await log.holds(position)) return lost;
  // A position that the feed cannot reach belongs to a history that a restored database has lost.
  if (!await feed.readUpTo(position)) return lost;
  if (reason !== null) return { kind: "fresh", reason };
  // The client may have received rows that reflect any change up to now, from any process.
  return await feed.readUpTo(await log.end()) ? position : lost;
}
