import { requireKnownOptions } from "../problem/known_options.ts";
import { shown } from "../problem/shown.ts";

/** CAPTCHAs for the whole service. */
export interface CaptchaOptions {
  /** Who makes the puzzles and checks the tokens. */
  readonly verifier: CaptchaVerifier;
  /** The request header of the token; `Service-Captcha-Token` unless set. */
  readonly tokenHeader?: string | undefined;
}

/** A provider of CAPTCHAs. */
export interface CaptchaVerifier {
  /** Its name, which tells a page what to load: `turnstile`. */
  readonly provider: string;
  /** What a page shows the puzzle with. */
  readonly siteKey: string;
  /** Asks about one token. What it throws refuses. */
  verify(question: CaptchaQuestion): Promise<CaptchaAnswer>;
}

/** One token, and what it must be good for. */
export interface CaptchaQuestion {
  /** As the client sent it. */
  readonly token: string;
  /** What the resource calls this use, where it calls it anything. */
  readonly action: string | undefined;
  /** The client's address; undefined where nobody tells it. */
  readonly remoteIp: string | undefined;
}

/** What the provider says of a token. */
export type CaptchaAnswer =
  | { readonly kind: "passed" }
  | { readonly kind: "refused"; readonly reason: string }
  /** It could not be asked: nobody passes. */
  | { readonly kind: "unavailable" };

/** The gate and the overflow of CAPTCHAs, as far as admission has to know them. */
export interface CaptchaChallenge {
  /**
   * Returns when the request carries a token that was taken, once for its request; else throws
   * `captcha-required` with the challenge, or `captcha-unavailable`.
   */
  require(request: Request, question: Omit<CaptchaQuestion, "token">): Promise<void>;
}

/** Checks the options once, at start. Throws a plain Error that names the option at fault. */
export function checkCaptcha(options: CaptchaOptions): void {
  const subject = "Cannot use abuseProtection.captcha";
  requireKnownOptions(options, { verifier: true, tokenHeader: true }, subject);
  const { verifier, tokenHeader } = options;
  if (typeof verifier !== "object" || verifier === null || typeof verifier.verify !== "function") {
    throw new Error(`${subject}.verifier: it must be a CaptchaVerifier, not ${shown(verifier)}`);
  }
  // RFC 9110 5.6.2: a header's name is a token.
  if (tokenHeader !== undefined && !/^[!#$%&'*+.^_`|~\w-]+$/.test(tokenHeader)) {
    throw new Error(`${subject}.tokenHeader ${JSON.stringify(tokenHeader)}: it names no header`);
  }
}
