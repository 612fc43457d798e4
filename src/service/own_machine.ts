import type { User } from "../auth/authorize.ts";
import { Problem } from "../problem/problem.ts";
import { isLoopback } from "../protocol/loopback.ts";
import type { PageRequest } from "./service_pages.ts";

export async function requirePageAccess(
  request: PageRequest,
  { authorize, option, cannot, headers }: {
    /** The deployer's function; null if only clients on this machine may see the page. */
    readonly authorize:
      | ((request: Request, user: User | null) => boolean | PromiseLike<boolean>)
      | null;
    readonly option: string;
    readonly cannot: string;
    readonly headers?: Readonly<Record<string, string>>;
  },
): Promise<void> {
  if (authorize === null) {
    const message = `${cannot} from here: only this machine may, until ${option} decides`;
    return requireOwnMachine(request, message);
  }
  const user = request.user();
  // Only `true` allows access: another value can be a mistake in the function.
  if (await authorize(request.raw, user) === true) return;
  if (user !== null) throw new Problem("forbidden", `${cannot}: ${option} refuses`);
  throw new Problem("unauthorized", `${cannot} without a credential that may`, { headers });
}

/** Refuses requests from other machines or proxies, and pages of other hosts (DNS rebinding). */
function requireOwnMachine(
  { raw: { headers, url }, address }: Pick<PageRequest, "raw" | "address">,
  message: string,
): void {
  const peer = (address() ?? "").replace(/^::ffff:/, "");
  const host = (headers.get("host") ?? URL.parse(url)?.host ?? "").toLowerCase();
  const site = headers.get("sec-fetch-site") ?? "none";
  const isOwnSite = site === "none" || site === "same-origin";
  // A proxy can replace `Host`, but `Origin` and `Referer` still contain the page's host.
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

/** The headers of a direct client. Any other header counts as a sign that a proxy is in between. */
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
