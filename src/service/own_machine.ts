import { Problem } from "../problem/problem.ts";
import { isLoopback } from "../protocol/loopback.ts";
import type { PageRequest } from "./service_pages.ts";

/**
 * Requires that a program of this machine asks, or a page of its own: not a proxy for others, and
 * not a page on the web that has pointed its own name to this machine (DNS rebinding). Throws a 403
 * with `message`.
 */
export function requireOwnMachine(
  { raw: { headers, url }, address }: Pick<PageRequest, "raw" | "address">,
  message: string,
): void {
  const peer = (address() ?? "").replace(/^::ffff:/, "");
  const host = (headers.get("host") ?? URL.parse(url)?.host ?? "")
    .toLowerCase().replace(/:\d+$/, "").replace(/^\[(.*)\]$/, "$1");
  const isForwarded = ["forwarded", "x-forwarded-for", "x-real-ip", "via"]
    .some((name) => headers.has(name));
  const site = headers.get("sec-fetch-site") ?? "none";
  const isOwnSite = site === "none" || site === "same-origin";
  if (isLoopback(peer) && isLoopback(host) && !isForwarded && isOwnSite) return;
  throw new Problem("forbidden", message);
}
