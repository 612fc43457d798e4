import { createHmac, createSecretKey, type KeyObject } from "node:crypto";
import type { InvalidationReason } from "../dispatch/server_sent_events.ts";
import { type LiveQuery, liveQueryKey } from "../live_view.ts";

/**
 * Creates and verifies resume tokens: a log position, and a seal (keyed hash) that binds it to the
 * live query. Without the seal, a client could choose an early position to see deleted rows.
 */
export class ResumeTokens {
  readonly #key: KeyObject;

  /** The key is secret. With the key, a client could test its guesses of a scope's values. */
  constructor(key: string) {
    this.#key = createSecretKey(key, "utf8");
  }

  /** Returns the digest of a live query's view, followed by the digest of the complete query. */
  digestOf(query: LiveQuery): string {
    const { resource, view } = query;
    return this.#digest(`${resource} ${view.shape}`) + this.#digest(liveQueryKey(query));
  }

  create(position: string, queryDigest: string): string {
    return `${position}${separator}${this.#seal(position, queryDigest)}`;
  }

  invalidationReason({ position, seal }: ResumeToken, query: LiveQuery): InvalidationReason | null {
    const own = this.#seal(position, this.digestOf(query));
    if (seal === own) return null;
    const looksAlike = seal.length === own.length &&
      seal.slice(0, digestLetters) === own.slice(0, digestLetters);
    return looksAlike ? "scope_changed" : "schema_changed";
  }

  /** Returns the seal: the digest of the view, then a digest of the query and the position. */
  #seal(position: string, queryDigest: string): string {
    return queryDigest.slice(0, digestLetters) + this.#digest(`${queryDigest} ${position}`);
  }

  #digest(text: string): string {
    const code = createHmac("sha256", this.#key).update(text).digest("base64url");
    return code.slice(0, digestLetters);
  }
}

export type ResumeToken = NonNullable<ReturnType<typeof parseResumeToken>>;

export function parseResumeToken(token: string) {
  const at = token.indexOf(separator);
  return at < 0 ? null : { position: token.slice(0, at), seal: token.slice(at + 1) };
}

/** The separator occurs in no position and no seal, and needs no escape in a URL. */
const separator = "~";

/** Characters of a digest: 48 bits. To guess a seal, a client would need too many requests. */
const digestLetters = 8;
