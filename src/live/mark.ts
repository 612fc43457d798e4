import { createHmacSha256, type HmacSha256 } from "../protocol/hmac_sha256.ts";
import type { InvalidationReason } from "./frames.ts";
import { groupKey, type Interest } from "./group.ts";

/**
 * Tells what the tokens of a stream are good for: a position says what a client knows, and means
 * that of the rows it was sent. Whoever comes back to other rows, or to rows that look otherwise,
 * has to begin anew.
 */
export class Marks {
  readonly #hmac: HmacSha256;

  /** Keyed, because a scope may hold values that its user must not guess. */
  constructor(key: string) {
    this.#hmac = createHmacSha256(new TextEncoder().encode(key));
  }

  /** The mark of an interest: first how its rows look, then which they are. */
  of(interest: Interest): string {
    const { resource, view } = interest;
    return this.#digest([resource, view.shape]) + this.#digest(groupKey(interest));
  }

  /** Why a client with such a mark must begin anew; null where it may go on. */
  reasonAgainst(mark: string, interest: Interest): InvalidationReason | null {
    const own = this.of(interest);
    if (mark === own) return null;
    const looksAlike = mark.length === own.length &&
      mark.slice(0, digestLetters) === own.slice(0, digestLetters);
    return looksAlike ? "scope_changed" : "schema_changed";
  }

  #digest(subject: unknown): string {
    const code = this.#hmac.sign(new TextEncoder().encode(JSON.stringify(subject)));
    return code.toBase64({ alphabet: "base64url" }).slice(0, digestLetters);
  }
}

/** A token: the position, and behind it the mark. */
export function markedToken(position: string, mark: string): string {
  return `${position}${separator}${mark}`;
}

/** The parts of a token; null for a text that is none. */
export function readToken(
  token: string,
): { readonly position: string; readonly mark: string } | null {
  const at = token.indexOf(separator);
  return at < 0 ? null : { position: token.slice(0, at), mark: token.slice(at + 1) };
}

/** In no position, in no mark, and the same in a URL. */
const separator = "~";

/** 48 bits: nobody gains by two marks that are the same by chance or by effort. */
const digestLetters = 8;
