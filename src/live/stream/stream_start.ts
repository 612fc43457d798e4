import type { LiveQuery } from "../live_view.ts";
import type { StreamContext } from "../stream_context.ts";
import { parseResumeToken } from "./resume_token.ts";
import type { SubscribeRequest } from "./stream_request.ts";
import type { StreamStart } from "./subscription_state.ts";

/** Returns where a stream starts: at the position of its resume token if it can resume. */
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
  // A position with a valid seal was once issued. If the log lacks it, the database was restored.
  if (reason === null && !await log.holds(position)) return lost;
  // A position that the feed cannot reach belongs to a history that a restore has removed.
  if (!await feed.readUpTo(position)) return lost;
  if (reason !== null) return { kind: "fresh", reason };
  // The client's rows can contain any change up to now, from any process. All must be published.
  return await feed.readUpTo(await log.end()) ? position : lost;
}
