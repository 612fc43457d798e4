import {
  coversPosition,
  parseLogPosition,
  type Position,
} from "../../../../src/db/changes/log_position.ts";
import { parseResumeToken } from "../../../../src/live/stream/resume_token.ts";
import type { Positions } from "./replica.ts";

/** Where a token stands, or the bare text of a position; null for what is neither. */
export function positionOf(token: string): Position | null {
  return parseLogPosition(parseResumeToken(token)?.position ?? token);
}

/** What clients need to know of positions, which are closed to them. */
export function positionsOf(kind: "numbered" | "snapshots"): Positions {
  return {
    includes: (token, earlier) => {
      const [left, right] = [positionOf(token), positionOf(earlier)];
      return left !== null && right !== null && coversPosition(left, right);
    },
    seqOf: (token) => {
      if (kind === "snapshots") return null;
      const position = positionOf(token);
      return position?.kind === "sequence" ? position.seq : null;
    },
  };
}
