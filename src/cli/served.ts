import { all } from "../filter/builders.ts";
import { Problem } from "../problem/problem.ts";
import { problemTypeBase } from "../protocol/problem_codes.ts";
import type { AuthOptions, ServiceConfig } from "../config.ts";
import type { ResourceOptions } from "../resource/definition.ts";
import type { Middleware } from "../service/middleware.ts";
import { type Access, credentialsOf } from "./access.ts";

/** What the command line found to serve, and what its first output says about it. */
export interface Served {
  readonly config: ServiceConfig;
  /** Completes "Serving …", e.g. `shop.db, read-only`. */
  readonly subject: string;
  /** Null where the configuration decides who may do what. */
  readonly access: Access | null;
  /** What to try first, below the first resource's path. */
  readonly exampleQuery: string;
}

/** What one token decides about a resource. */
export function grantedBy(
  access: Access,
): Pick<ResourceOptions<unknown>, "auth" | "capabilities"> {
  const { readsNeedToken, writable } = access;
  return {
    auth: {
      public: !readsNeedToken,
      read: () => all(),
      subscribe: () => all(),
      ...(writable ? { create: () => all(), update: () => all(), delete: () => all() } : {}),
    },
    capabilities: { enableCreate: writable, enableUpdate: writable, enableDelete: writable },
  };
}

/** Whoever sends the printed token is the one who started the process. */
export function tokenAuth(access: Access): AuthOptions | undefined {
  const { token, readsNeedToken } = access;
  if (token === null) return undefined;
  const middleware: Middleware = async function identify(context, next) {
    const credentials = credentialsOf(context.req.header("authorization"), token);
    if (credentials === "wrong") throw unauthorized("This is not the token that was printed");
    if (credentials === "right") context.set("user", { id: "operator" });
    // Descriptions of the tables are kept back like their rows.
    else if (readsNeedToken && !isForEverybody(context.req.path)) {
      throw unauthorized("This needs the token that was printed at the start");
    }
    await next();
  };
  return { middleware };
}

function isForEverybody(path: string): boolean {
  return path === "/healthz" || path === "/readyz" || path.startsWith(problemTypeBase);
}

function unauthorized(message: string): Problem {
  return new Problem("unauthorized", message, { headers: { "www-authenticate": "Bearer" } });
}
