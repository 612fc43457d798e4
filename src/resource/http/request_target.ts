import { invalidParameter, type Problem } from "../../problem/problem.ts";

export interface RequestTarget {
  /** The percent-encoded path as the client sent it, from the first slash on. */
  readonly path: string;
  readonly query: string;
}

/** Returns the raw path and query. `new URL()` resolves `..`, and throws for an invalid `Host`. */
export function parseRequestTarget(url: string): RequestTarget {
  const scheme = url.indexOf("://");
  const host = scheme < 0 ? 0 : scheme + 3;
  const slash = url.indexOf("/", host);
  const hash = url.indexOf("#", host);
  const end = hash < 0 ? url.length : hash;
  const mark = url.indexOf("?", host);
  const pathEnd = mark < 0 || mark > end ? end : mark;
  // The target `http://x?a=/` has no path. The slash belongs to its query.
  const path = slash < 0 || slash > pathEnd ? "/" : url.slice(slash, pathEnd);
  return { path, query: pathEnd === end ? "" : url.slice(pathEnd + 1, end) };
}

/**
 * Creates a check for `Host` headers that would change the path. A listener concatenates header and
 * path: `GET /healthz` with `Host: x/api/notes?` becomes `http://x/api/notes?/healthz`, past a
 * proxy that allows only `/healthz`. So the header must be a host with an optional port (RFC 9112,
 * 3.2). The header may be missing, as in HTTP/1.0, HTTP/2 and serverless platforms.
 */
export function createHostCheck(): (request: Request) => boolean {
  // Nearly all requests have the same host, so a check usually compares two strings.
  let known: string | null = null;
  let knownStart = "";
  return function hasPlainHost(request) {
    const { url } = request;
    const host = request.headers.get("host");
    if ((host === null || host === known) && knownStart !== "" && url.startsWith(knownStart)) {
      return true;
    }
    // `URL.canParse` also rejects ports above 65535, which the pattern accepts.
    if (host !== null && !(plainHost.test(host) && URL.canParse(`http://${host}/`))) return false;
    const start = plainStart.exec(url)?.[0];
    if (start === undefined || !URL.canParse(start)) return false;
    if (host !== null) known = host;
    if (start.endsWith("/")) knownStart = start;
    return true;
  };
}

export function invalidHost(): Problem {
  return invalidParameter("Cannot answer under this Host: it must be a host with an optional port");
}

const hostWithPort = String.raw`(?:\[[0-9a-f:.]+\]|(?:[\w.~-]|%[0-9a-f]{2})+)(?::\d{0,5})?`;
const plainHost = new RegExp(`^${hostWithPort}$`, "i");

/** An absolute request target (RFC 9112, 3.2.2) contains its own host, and can omit the path. */
const plainStart = new RegExp(String.raw`^[a-z][a-z\d+.-]*://${hostWithPort}(?:/|(?=[?#]|$))`, "i");
