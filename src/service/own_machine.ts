import { Problem } from "../problem/problem.ts";
import { isLoopback } from "../protocol/loopback.ts";
import type { PageRequest } from "./service_pages.ts";

/**
 * Requires that a program on this machine, or a page of the service, has sent the request. Refuses
 * requests that a proxy forwards from other machines. Also refuses a web page whose host name
 * resolves to this machine (DNS rebinding). Throws a 403 with `message`.
 */
export function requireOwnMachine(
  { raw: { headers, url }, address }: Pick<PageRequest, "raw" | "address">,
  message: string,
): void {
  const peer = (address() ?? "").replace(/^::ffff:/, "");
  const host = (headers.get("host") ?? URL.parse(url)?.host ?? "").toLowerCase();
  const site = headers.get("sec-fetch-site") ?? "none";
  const isOwnSite = site === "none" || site === "same-origin";
  // `Origin` and `Referer` contain the page's host, even if a proxy has replaced `Host`.
  const isElsewhere = [headers.get("origin"), headers.get("referer")]
    .some((page) => page !== null && !isLoopbackHost(URL.parse(page)?.host ?? ""));
  if (!isLoopback(peer) || !isLoopbackHost(host) || !isOwnSite || isElsewhere) {
    throw new Problem("forbidden", message);
  }
  const foreign = [...headers.keys()].find((name) => !direct.test(name));
  if (foreign === undefined) return;
  const reason = `the header ${JSON.stringify(foreign)} may be that of a proxy`;
  throw new Problem("forbidden", `${message} (${reason})`);
}

function isLoopbackHost(host: string): boolean {
  return isLoopback(host.replace(/:\d+$/, "").replace(/^\[(.*)\]$/, "$1"));
}

/**
 * The headers that browsers, simple programs, Prometheus and this service's clients send. Any other
 * header may come from a proxy. Headers of proxies cannot be listed, because each vendor adds new
 * headers.
 */
const direct = new RegExp(
  "^(?:" + [
    "(?:accept|content|if|sec)(?:-.+)?|authorization|cookie|host|origin|referer|user-agent",
    "cache-control|connection|keep-alive|expect|pragma|prefer|priority|purpose|range|te|trailer",
    "transfer-encoding|upgrade|upgrade-insecure-requests|last-event-id|x-requested-with",
    "available-dictionary|dictionary-id|device-memory|dnt|downlink|dpr|ect|rtt|save-data",
    "viewport-width|idempotency-key|x-api-key|service-(?:optimistic-id|view-as|pow-.+|captcha-.+)",
    "x-prometheus-scrape-timeout-seconds",
  ].join("|") + ")$",
);
