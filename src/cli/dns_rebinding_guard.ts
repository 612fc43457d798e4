import { Problem } from "../problem/problem.ts";
import { isLoopback } from "../protocol/loopback.ts";
import type { Middleware } from "../service/middleware.ts";
import { checkToken, type CliRights } from "./cli_rights.ts";

/**
 * Guards against DNS rebinding where only this machine may send requests: a request to a name other
 * than a loopback one needs the token. A page on the web can point its own name to the loopback
 * (DNS rebinding): for a browser, this service then has the origin of the page, which may read all
 * that programs on this machine may read. The Host of such a request is the page's name.
 */
export function dnsRebindingGuard({ localOnly, token }: CliRights): readonly Middleware[] {
  if (!localOnly) return [];
  const requireOwnHost: Middleware = async (context, next) => {
    const hasToken = token !== null &&
      checkToken(context.req.header("authorization"), token) === "right";
    if (!hasToken && !isLoopback(hostOf(context.req.raw.url))) {
      throw new Problem(
        "forbidden",
        "Cannot answer under this name: use localhost or 127.0.0.1, or start with --public",
      );
    }
    await next();
  };
  return [requireOwnHost];
}

/** The raw host of the request without its port; `new URL()` would throw for an invalid one. */
function hostOf(url: string): string {
  const [, address, name = ""] =
    /^\w+:\/\/(?:\[([^\]]*)\]|([^:/?#]*))(?::\d*)?(?:[/?#]|$)/.exec(url) ?? [];
  return (address ?? name).toLowerCase();
}
