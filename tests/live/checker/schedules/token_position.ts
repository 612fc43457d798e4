import type { Position } from "../../../../src/db/change_log.ts";
import { parsePosition } from "../../../../src/db/change_position.ts";
import { readToken } from "../../../../src/live/mark.ts";

/** Where a token stands, or the bare text of a position; null for what is neither. */
export function positionOf(token: string): Position | null {
  return parsePosition(readToken(token)?.position ?? token);
}
