import type { Authenticator, Identification } from "../../auth/authenticator.ts";
import { Problem } from "../../problem/problem.ts";
import type { MaybePromise } from "../../runtime/maybe_promise.ts";
import { bearerToken } from "../opaque_token.ts";
import { isWriteMethod, requireOwnPage } from "./origin_check.ts";
import type { SessionCookie } from "./session_cookie.ts";
import { sessionPrefix, type Sessions } from "./sessions.ts";

export interface SessionAuthOptions {
  readonly sessions: Sessions;
  readonly cookie: SessionCookie;
  readonly trustedOrigins: ReadonlySet<string>;
}

export interface RequestSessionToken {
  readonly token: string;
  /** True if the token comes from a cookie, which browsers add to requests automatically. */
  readonly isCookie: boolean;
}

/** Returns the session token of a request from `Authorization`, or else from the cookie. */
export function sessionTokenOfRequest(
  request: Request,
  cookie: SessionCookie,
): RequestSessionToken | null {
  const bearer = bearerToken(request.headers.get("authorization"));
  if (bearer?.startsWith(sessionPrefix)) return { token: bearer, isCookie: false };
  const token = cookie.read(request);
  return token === null ? null : { token, isCookie: true };
}

/**
 * Creates the function that identifies the user of a session, by `Authorization: Bearer` or by a
 * cookie. A write with a cookie must come from a page of this service.
 */
export function createSessionAuth(
  { sessions, cookie, trustedOrigins }: SessionAuthOptions,
): Authenticator["identify"] {
  return function identify(request): MaybePromise<Identification | null> {
    const carried = sessionTokenOfRequest(request, cookie);
    if (carried === null) return null;
    const { token, isCookie } = carried;
    // The origin is checked before the session, so that other sites cannot find out if it exists.
    if (isCookie && isWriteMethod(request.method)) requireOwnPage(request, trustedOrigins);
    const found = sessions.identify(token);
    // A session in the cache needs no closure, which would slow down each request.
    if (found instanceof Promise) {
      return found.then((one) => one ?? ended(request, isCookie, cookie));
    }
    return found ?? ended(request, isCookie, cookie);
  };
}

function ended(request: Request, isCookie: boolean, cookie: SessionCookie): never {
  throw new Problem("unauthorized", "The session has ended: log in again", {
    headers: isCookie ? clearing(request, cookie) : {},
  });
}

/** Returns headers that remove the cookie after the end of its session. */
function clearing(request: Request, cookie: SessionCookie): Readonly<Record<string, string>> {
  const headers = new Headers();
  cookie.clear(headers, request);
  return { "set-cookie": headers.get("set-cookie") ?? "" };
}
