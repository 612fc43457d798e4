import { Hono } from "@hono/hono";
import type { User } from "../auth/user.ts";
import type { Caller } from "../resource/http/routed_request.ts";
import { Problem } from "../problem/problem.ts";
import type { ProblemSlug } from "../protocol/problem_codes.ts";
import type { Middleware, Router } from "./middleware.ts";

/** Answers a request that has passed the middleware chain; never rejects. */
export type AnswerRequest = (request: Request, caller: Caller) => Promise<Response>;

/**
 * The middleware chain that a request passes before the resources, and how failures are answered.
 */
export interface MiddlewareOptions {
  /** In the order in which they run. */
  readonly middleware: readonly Middleware[];
  /** The deployer's router, mounted at `routesPath`. */
  readonly routes: Router | undefined;
  readonly routesPath: string;
  readonly answer: AnswerRequest;
  /** The value that a middleware set as `user` → the user. */
  readonly parseUser: (value: unknown) => User | null;
  /** The response to an error of a middleware or the router. */
  readonly fail: (error: unknown, request: Request) => Response;
  /** Completes and sanitizes a response that a middleware or the router made or changed. */
  readonly adopt: (response: Response) => Response;
}

/**
 * Makes the middleware chain of an app: a `fetch` that never rejects, through any Hono middleware.
 */
export function createMiddlewareChain(
  options: MiddlewareOptions,
): (request: Request, info?: unknown) => Promise<Response> {
  const { middleware, routes, routesPath, answer, parseUser, fail, adopt } = options;
  // No other code makes or changes these responses, so that every header in them was checked.
  if (middleware.length === 0 && routes === undefined) {
    return (request, info) => answer(request, new AnonymousCaller(info));
  }
  const hono = new Hono<{ Variables: { user: unknown } }>();
  for (const one of middleware) {
    // The public context type is the promised part of Hono's; the value is Hono's own.
    hono.use("*", one as unknown as Parameters<typeof hono.use>[1]);
  }
  if (routes !== undefined) {
    // A router may take more than the request: Hono's take what the listener reports.
    const handle = routes.fetch.bind(routes) as (request: Request, info: unknown) => Response;
    hono.mount(routesPath, handle);
  }
  hono.all("*", (context) => {
    const user = () => parseUser(context.get("user"));
    return answer(context.req.raw, {
      user,
      address: () => remoteAddress(context.env),
      delivered: () => deliveryOf(context.env),
    });
  });
  hono.onError((error, context) => fail(problemOf(error), context.req.raw));
  return async function fetch(request, info = {}) {
    try {
      return adopt(await hono.fetch(request, Object(info)));
    } catch (error) {
      // Hono rethrows values that are no Error, and `adopt` throws for an error response.
      return fail(error, request);
    }
  };
}

/** The caller where no middleware identifies users. A class, because each request makes one. */
class AnonymousCaller implements Caller {
  readonly #info: unknown;

  constructor(info: unknown) {
    this.#info = info;
  }

  user(): null {
    return null;
  }

  address(): string | null {
    return remoteAddress(this.#info);
  }

  delivered(): Promise<unknown> | null {
    return deliveryOf(this.#info);
  }
}

/** The peer's address as the listener reports it; null without one. */
function remoteAddress(info: unknown): string | null {
  if (typeof info !== "object" || info === null || !("remoteAddr" in info)) return null;
  const { remoteAddr } = info;
  if (typeof remoteAddr !== "object" || remoteAddr === null) return null;
  return "hostname" in remoteAddr && typeof remoteAddr.hostname === "string"
    ? remoteAddr.hostname
    : null;
}

/** The completion of the response as the listener reports it; null without one. */
function deliveryOf(info: unknown): Promise<unknown> | null {
  if (typeof info !== "object" || info === null || !("completed" in info)) return null;
  return info.completed instanceof Promise ? info.completed : null;
}

/** The problem of each status that middlewares throw. */
const slugs: ReadonlyMap<number, ProblemSlug> = new Map([
  [400, "invalid-parameter"],
  [401, "unauthorized"],
  [403, "forbidden"],
  [404, "not-found"],
  [405, "method-not-allowed"],
  [408, "request-timeout"],
  [409, "conflict"],
  [413, "payload-too-large"],
  [415, "unsupported-media-type"],
  [422, "validation-error"],
  [429, "rate-limit-exceeded"],
]);

/** Hono's `HTTPException`, recognized by its structure, as a problem with the same status. */
function problemOf(error: Error): Error {
  if (!("getResponse" in error) || typeof error.getResponse !== "function") return error;
  const response: unknown = error.getResponse();
  if (!(response instanceof Response)) return error;
  const slug = slugs.get(response.status);
  if (slug === undefined) return error;
  const headers = Object.fromEntries(
    [...response.headers].filter(([name]) => !name.startsWith("content-")),
  );
  return new Problem(slug, error.message || "Refused on the way to the resource", { headers });
}
