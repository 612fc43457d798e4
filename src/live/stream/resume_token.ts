import { encodeBase64url } from "../../protocol/byte_text.ts";
import { createHmacSha256, type HmacSha256 } from "../../protocol/hmac_sha256.ts";
import type { InvalidationReason } from "../dispatch/server_sent_events.ts";
import { type LiveQuery, liveQueryKey } from "../live_query.ts";

/**
 * Creates and verifies the resume tokens of streams. A token seals a position together with its
 * live query. A client that resumes with another query or view must start over. A client whose
 * position was never issued for those rows must also start over. The log may contain rows that were
 * deleted before the client first connected.
 */
export class ResumeTokens {
  readonly #hmac: HmacSha256;

  /** The digest is keyed, because a scope may contain values that the user must not guess. */
  constructor(key: string) {
    this.#hmac = createHmacSha256(new TextEncoder().encode(key));
  }

  /** Returns the digest of a live query: a digest of the view, then a digest of the rows. */
  digestOf(query: LiveQuery): string {
    const { resource, view } = query;
    return this.#digest(`${resource} ${view.shape}`) + this.#digest(liveQueryKey(query));
  }

  /** Creates the token of a position for the live query with a digest. */
  create(position: string, queryDigest: string): string {
    return `${position}${separator}${this.#seal(position, queryDigest)}`;
  }

  /** Returns why a client with a token must start over, or null if the client may resume. */
  invalidationReason({ position, seal }: ResumeToken, query: LiveQuery): InvalidationReason | null {
    const own = this.#seal(position, this.digestOf(query));
    if (seal === own) return null;
    const looksAlike = seal.length === own.length &&
      seal.slice(0, digestLetters) === own.slice(0, digestLetters);
    return looksAlike ? "scope_changed" : "schema_changed";
  }

  /** Returns the digest of the view, then a digest of the rows and the position. */
  #seal(position: string, queryDigest: string): string {
    return queryDigest.slice(0, digestLetters) + this.#digest(`${queryDigest} ${position}`);
  }

  #digest(text: string): string {
    const code = this.#hmac.sign(new TextEncoder().encode(text));
    return encodeBase64url(code.subarray(0, digestBytes));
  }
}

/** A parsed resume token: a position that a client has received, and the seal that proves it. */
export interface ResumeToken {
  readonly position: string;
  readonly seal: string;
}

export function parseResumeToken(token: string): ResumeToken | null {
  const at = token.indexOf(separator);
  return at < 0 ? null : { position: token.slice(0, at), seal: token.slice(at + 1) };
}

/** The separator occurs in no position and no seal, and needs no escape in a URL. */
const separator = "~";

/** The length of a digest in bytes. A seal that is equal by chance or forged helps no client. */
const digestBytes = 6;
const digestLetters = 8;
