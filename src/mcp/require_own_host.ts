import { Problem } from "../problem/problem.ts";
import { isLoopback } from "../protocol/loopback.ts";

/**
 * Requires that an MCP request comes from a program, or from a page of the service's own host. A
 * page on the web can resolve its name to this machine (DNS rebinding), and a browser then sends
 * the requests of that page here. Each of them has an `Origin`. Throws a 403.
 */
export function requireOwnHost(
  { headers, url }: Request,
  hosts: readonly string[],
  trustedOrigins: ReadonlySet<string>,
): void {
  const origin = headers.get("origin");
  const host = headers.get("host") ?? URL.parse(url)?.host ?? "";
  const isOwn = isOwnHost(host, hosts);
  // Without configured hosts, a service does not know its own names: no browser may use it.
  if (origin === null) {
    if (isOwn || hosts.length === 0) return;
    throw new Problem("forbidden", "Cannot answer under this name: mcp.hosts does not list it");
  }
  if (trustedOrigins.has(origin)) return;
  if (isOwn && URL.parse(origin)?.host === host) return;
  throw new Problem("forbidden", "Cannot answer a page of another origin");
}

function isOwnHost(host: string, hosts: readonly string[]): boolean {
  const name = host.toLowerCase().replace(/:\d+$/, "").replace(/^\[(.*)\]$/, "$1");
  return isLoopback(name) || hosts.some((one) => [host, name].includes(one.toLowerCase()));
}
