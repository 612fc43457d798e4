import { setCookie } from "@std/http/cookie";
import { groupOf } from "../../options/option.ts";
import { flag, oneOf } from "../../options/option_kinds.ts";
import { type BoundedMap, boundedMap } from "../../runtime/bounded_map.ts";
import { isLoopback } from "../../protocol/loopback.ts";

/** The options of the session cookie. */
export interface SessionCookieOptions {
  /**
   * The `SameSite` attribute. With `Lax`, browsers send the cookie when users follow links from
   * other sites. `Strict` prevents this, and `None` is for embedded pages. Default: `Lax`.
   */
  readonly sameSite?: "Strict" | "Lax" | "None" | undefined;
  /**
   * True to send the cookie only over HTTPS and to name it `__Host-session`. Default: true, except
   * for `localhost` and other names of this machine.
   */
  readonly secure?: boolean | undefined;
}

export const sessionCookieOptionRules = groupOf<SessionCookieOptions>()({
  sameSite: oneOf("Strict", "Lax", "None").default("Lax"),
  secure: flag(),
});

export class SessionCookie {
  readonly #sameSite: "Strict" | "Lax" | "None";
  readonly #secure: boolean | undefined;
  /** Cache of parsed `Cookie` headers, because a client sends the same header with each request. */
  readonly #parsed: BoundedMap<string, CookieTokens> = boundedMap(10_000, {
    maxBytes: 8 * 1024 * 1024,
    bytesOf: (header) => 4 * header.length,
  });
  #host: string | null = null;
  #isSecureHost = true;

  constructor({ sameSite = "Lax", secure }: SessionCookieOptions) {
    this.#sameSite = sameSite;
    this.#secure = secure;
  }

  read({ headers, url }: Request): string | null {
    // Most requests have no session cookie, and this test is faster than parsing.
    const given = headers.get("cookie");
    if (given === null || !given.includes("session=")) return null;
    const known = this.#parsed.get(given) ?? this.#parse(given);
    return this.#isSecureAt(headers.get("host"), url) ? known.secure : known.plain;
  }

  set(headers: Headers, request: Request, token: string, maxAgeMs: number): void {
    this.#write(headers, this.isSecureFor(request), token, Math.floor(maxAgeMs / 1_000));
  }

  clear(headers: Headers, request: Request): void {
    this.#write(headers, this.isSecureFor(request), "", 0);
  }

  isSecureFor({ headers, url }: Request): boolean {
    return this.#isSecureAt(headers.get("host"), url);
  }

  /** With the prefix `__Host-`, no other host can set the cookie (RFC 6265bis, 4.1.3.2). */
  #write(headers: Headers, secure: boolean, value: string, maxAge: number): void {
    const name = secure ? secureName : plainName;
    const sameSite = this.#sameSite;
    setCookie(headers, { name, value, maxAge, path: "/", httpOnly: true, sameSite, secure });
  }

  #isSecureAt(host: string | null, url: string): boolean {
    if (this.#secure !== undefined) return this.#secure;
    // Nearly all requests have the same host, so the last result is remembered.
    if (host === null || host !== this.#host) {
      this.#isSecureHost = !isLoopback(hostName(host, url));
      this.#host = host;
    }
    return this.#isSecureHost;
  }

  #parse(given: string): CookieTokens {
    const tokens = { secure: cookieIn(given, secureName), plain: cookieIn(given, plainName) };
    this.#parsed.set(given, tokens);
    return tokens;
  }
}

export function cookieIn(header: string, name: string): string | null {
  const cookie = header.split(";").findLast((part) => part.trimStart().startsWith(`${name}=`));
  return cookie?.trim().slice(name.length + 1) ?? null;
}

interface CookieTokens {
  readonly secure: string | null;
  readonly plain: string | null;
}

const secureName = "__Host-session";
const plainName = "session";

function hostName(host: string | null, url: string): string {
  const [, address, name = ""] = /^(?:\[([^\]]*)\]|([^:/?#]*))/.exec(
    host ?? url.replace(/^[a-z+.-]+:\/\//i, ""),
  ) ?? [];
  return (address ?? name).toLowerCase();
}
