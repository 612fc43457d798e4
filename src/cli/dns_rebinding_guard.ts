import { Problem } from "../problem/problem.ts";
import { isLoopback } from "../protocol/loopback.ts";
import type { Middleware } from "../service/middleware.ts";
import { checkToken, type CliRights } from "./cli_rights.ts";

/**
 * Where only this machine may ask, refuses what asks for it by another name than its own, unless
 * the token comes with it. A page on the web can let its own name lead to the loopback (DNS
 * rebinding): to a browser that has it open, this service is then of the page's origin, and what
 * everybody on this machine may read, the page may read as well. The name gives it away.
 */
export function dnsRebindingGuard({ localOnly, token }: CliRights): readonly Middleware[] {
  if (!localOnly) return [];
  const requireOwnHost: Middleware = async (context, next) => {
    const hasToken = token !== null &&
      checkToken(context.req.header("authorization"), token) === "right";
    if (!hasToken && !isLoopback(hostOf(context.req.raw.url))) {
      throw new Problem(
        "forbidden",
        "Cannot answer under this name: ask for localhost or 127.0.0.1, or start with --public",
      );
    }
    await next();
  };
  return [requireOwnHost];
}

/** The host of the request without its port, as it was sent; `new URL()` throws for a bad one. */
function hostOf(url: string): string {
  const [, address, name = ""] =
    /^\w+:\/\/(?:\[([^\]]*)\]|([^:/?#]*))(?::\d*)?(?:[/?#]|$)/.exec(url) ?? [];
  return (address ?? name).toLowerCase();
}
