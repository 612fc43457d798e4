import { Problem } from "../problem/problem.ts";
import { isLoopback } from "../protocol/loopback.ts";

/** Throws a 403 for a host or a web page that is not allowed, to prevent DNS rebinding. */
export function requireOwnHost(
  { headers, url }: Request,
  hosts: readonly string[],
  trustedOrigins: ReadonlySet<string>,
): void {
  const origin = headers.get("origin");
  const host = headers.get("host") ?? URL.parse(url)?.host ?? "";
  const name = host.toLowerCase().replace(/:\d+$/, "").replace(/^\[(.*)\]$/, "$1");
  const isOwn = isLoopback(name) || hosts.some((one) => [host, name].includes(one.toLowerCase()));
  // A program sends no `Origin`. Without the option `hosts`, a program may use any host name.
  if (origin === null) {
    if (isOwn || hosts.length === 0) return;
    throw new Problem("forbidden", "Cannot answer under this name: mcp.hosts does not list it");
  }
  if (trustedOrigins.has(origin)) return;
  if (isOwn && URL.parse(origin)?.host === host) return;
  throw new Problem("forbidden", "Cannot answer a page of another origin");
}
