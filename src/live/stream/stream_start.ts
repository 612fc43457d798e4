import type { LiveQuery } from "../live_query.ts";
import type { StreamContext } from "../stream_context.ts";
import { parseResumeToken } from "./resume_token.ts";
import type { SubscribeRequest } from "./stream_request.ts";
import type { StreamStart } from "./subscription_state.ts";

/** Returns the start of a stream: the position of its resume token if the client may resume. */
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
  // A position with a correct seal was issued. If the log lacks it, the database was restored.
  if (reason === null && !await log.holds(position)) return lost;
  // If the feed cannot reach the position, the database was restored and has lost that history.
  if (!await feed.readUpTo(position)) return lost;
  if (reason !== null) return { kind: "fresh", reason };
  // The rows that the client has received may reflect any change up to now, from any process.
  return await feed.readUpTo(await log.end()) ? position : lost;
}
