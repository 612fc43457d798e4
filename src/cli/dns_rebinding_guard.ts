import { Problem } from "../problem/problem.ts";
import { isLoopback } from "../protocol/loopback.ts";
import type { Middleware } from "../service/middleware.ts";
import { checkToken, type CliRights } from "./cli_service.ts";

/**
 * Protects a local service against DNS rebinding: a web page can map its own host name to the
 * loopback address, and the browser then lets the page read the service. The Host header of such
 * requests contains the page's host name, so a name that is not a loopback name needs the token.
 */
export function dnsRebindingGuard({ localOnly, token }: CliRights): readonly Middleware[] {
  if (!localOnly) return [];
  const requireOwnHost: Middleware = async (context, next) => {
    const { url, headers } = context.req.raw;
    const authorization = headers.get("authorization") ?? undefined;
    if (token === null || checkToken(authorization, token) !== "right") {
      if (!isLoopback(hostOf(url))) {
        throw new Problem(
          "forbidden",
          "Cannot answer under this name: use localhost or 127.0.0.1, or start with --public",
        );
      }
      if (isForwarded(headers)) {
        throw new Problem(
          "forbidden",
          "Cannot answer a request of another machine: start with --trust-proxy, so that a proxy " +
            "may forward requests, or with --public",
        );
      }
    }
    await next();
  };
  return [requireOwnHost];
}

/** Returns true if another machine's request came by a proxy, which may have replaced `Host`. */
function isForwarded(headers: Headers): boolean {
  if (headers.has("forwarded") || headers.has("via")) return true;
  const clients = `${headers.get("x-forwarded-for") ?? ""},${headers.get("x-real-ip") ?? ""}`;
  return clients.split(",").some((client) => client.trim() !== "" && !isLoopback(client.trim()));
}

/** Returns the host in a URL without its port. Accepts an invalid host, unlike `new URL()`. */
function hostOf(url: string): string {
  const [, address, name = ""] =
    /^\w+:\/\/(?:\[([^\]]*)\]|([^:/?#]*))(?::\d*)?(?:[/?#]|$)/.exec(url) ?? [];
  return (address ?? name).toLowerCase();
}
