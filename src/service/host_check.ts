/**
 * Whether a request's path can only come from its request target. A listener concatenates `Host` and
 * target to the URL of a request, unchecked: `GET /healthz` with `Host: x/api/notes?` becomes
 * `http://x/api/notes?/healthz`, past a proxy that allows `/healthz` alone. So both the header and
 * the URL before its path must be a host with an optional port (RFC 9112, 3.2).
 *
 * A missing `Host` is accepted: HTTP/1.0 and HTTP/2 have none, and where a serverless platform calls
 * `fetch` there is only the URL.
 */
export function createHostCheck(): (request: Request) => boolean {
  // Nearly all requests have the same host: they cost two text comparisons.
  let known = "";
  let knownStart = "";
  return function hasPlainHost(request) {
    const { url } = request;
    const host = request.headers.get("host");
    if ((host === null || host === known) && knownStart !== "" && url.startsWith(knownStart)) {
      return true;
    }
    if (host !== null && !plainHost.test(host)) return false;
    const start = plainStart.exec(url)?.[0];
    if (start === undefined) return false;
    if (host !== null && start.endsWith("/")) [known, knownStart] = [host, start];
    return true;
  };
}

const hostWithPort = String.raw`(?:\[[0-9a-f:.]+\]|(?:[\w.~-]|%[0-9a-f]{2})+)(?::\d{0,5})?`;
const plainHost = new RegExp(`^${hostWithPort}$`, "i");

/** An absolute target (RFC 9112, 3.2.2) has its own host, and may have no path. */
const plainStart = new RegExp(String.raw`^[a-z][a-z\d+.-]*://${hostWithPort}(?:/|(?=[?#]|$))`, "i");
