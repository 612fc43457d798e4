import { all } from "../filter/builders.ts";
import { Problem } from "../problem/problem.ts";
import { problemTypeBase } from "../protocol/problem_codes.ts";
import type { AuthOptions, ServiceConfig } from "../config.ts";
import type { ResourceOptions } from "../resource/define/resource_options.ts";
import type { Middleware, MiddlewareContext } from "../service/middleware.ts";
import { checkToken, type CliRights } from "./cli_rights.ts";

/** What the command line found to serve, and what its first output says about it. */
export interface CliService {
  readonly config: ServiceConfig;
  /** Completes "Serving …", e.g. `shop.db, read-only`. */
  readonly subject: string;
  /** Null where the configuration decides who may do what. */
  readonly access: CliRights | null;
  /** What to try first, below the first resource's path. */
  readonly exampleQuery: string;
}

/** What one token decides about a resource, and what all resources of the command line share. */
export function resourceOptionsFor(
  access: CliRights,
): Pick<ResourceOptions<unknown>, "auth" | "capabilities" | "strictInput"> {
  const { readsNeedToken, writable } = access;
  return {
    auth: {
      public: !readsNeedToken,
      read: () => all(),
      subscribe: () => all(),
      ...(writable ? { create: () => all(), update: () => all(), delete: () => all() } : {}),
    },
    capabilities: {
      enableCreate: writable,
      enableUpdate: writable,
      enableDelete: writable,
      // Streams need a log in the database, and nothing is installed in one opened to be read.
      enableSubscribe: writable,
      // Whoever may read may walk through all pages as well.
      enableExport: true,
    },
    // Whoever tries things out by hand wants to hear of a misspelt field.
    strictInput: true,
  };
}

/** The capabilities are off where nothing may be written; this says how they would be on. */
export async function refuseWrites(
  context: MiddlewareContext,
  next: () => Promise<void>,
): Promise<void> {
  const { method } = context.req;
  if (writingMethods.has(method)) {
    throw new Problem(
      "method-not-allowed",
      `Cannot ${method} here: the database was opened read-only, start with --write to change it`,
      { headers: { allow: "GET, HEAD" } },
    );
  }
  await next();
}

const writingMethods: ReadonlySet<string> = new Set(["POST", "PATCH", "PUT", "DELETE"]);

/** Whoever sends the printed token is the one who started the process. */
export function tokenAuth(access: CliRights): AuthOptions | undefined {
  const { token, readsNeedToken } = access;
  if (token === null) return undefined;
  const middleware: Middleware = async function identify(context, next) {
    const credentials = checkToken(context.req.header("authorization"), token);
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
  return new Problem("unauthorized", message);
}
