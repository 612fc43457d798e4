import { createHmacSha256, type HmacSha256 } from "../../protocol/hmac_sha256.ts";
import type { InvalidationReason } from "../dispatch/server_sent_events.ts";
import { type LiveQuery, liveQueryKey } from "../live_query.ts";

/**
 * Makes the tokens of streams, and tells what they are good for: a position says what a client
 * knows, and means that of the rows it was sent. Whoever comes back to other rows, or to rows that
 * look otherwise, has to begin anew. So has who comes with a position that was never given out for
 * those rows: the log remembers rows that were deleted before the client was there.
 */
export class ResumeTokens {
  readonly #hmac: HmacSha256;

  /** Keyed, because a scope may hold values that its user must not guess. */
  constructor(key: string) {
    this.#hmac = createHmacSha256(new TextEncoder().encode(key));
  }

  /** The mark of an interest: first how its rows look, then which they are. */
  digestOf(query: LiveQuery): string {
    const { resource, view } = query;
    return this.#digest(`${resource} ${view.shape}`) + this.#digest(liveQueryKey(query));
  }

  /** The token of a position for those whose interest has a mark. */
  create(position: string, resumeToken: string): string {
    return `${position}${separator}${this.#seal(position, resumeToken)}`;
  }

  /** Why a client with such a token must begin anew; null where it may go on. */
  invalidationReason({ position, seal }: ResumeToken, query: LiveQuery): InvalidationReason | null {
    const own = this.#seal(position, this.digestOf(query));
    if (seal === own) return null;
    const looksAlike = seal.length === own.length &&
      seal.slice(0, digestLetters) === own.slice(0, digestLetters);
    return looksAlike ? "scope_changed" : "schema_changed";
  }

  /** How the rows look, then which they are and the position in one. */
  #seal(position: string, resumeToken: string): string {
    return resumeToken.slice(0, digestLetters) + this.#digest(`${resumeToken} ${position}`);
  }

  #digest(text: string): string {
    const code = this.#hmac.sign(new TextEncoder().encode(text));
    return code.subarray(0, digestBytes).toBase64({ alphabet: "base64url" });
  }
}

/** A position that a client was given, and what shows that it was. */
export interface ResumeToken {
  readonly position: string;
  readonly seal: string;
}

/** The parts of a token; null for a text that is none. */
export function parseResumeToken(token: string): ResumeToken | null {
  const at = token.indexOf(separator);
  return at < 0 ? null : { position: token.slice(0, at), seal: token.slice(at + 1) };
}

/** In no position, in no seal, and the same in a URL. */
const separator = "~";

/** 48 bits: nobody gains by two seals that are the same by chance or by effort. */
const digestBytes = 6;
const digestLetters = 8;
