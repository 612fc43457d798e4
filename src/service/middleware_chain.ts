import { Hono } from "@hono/hono";
import type { User } from "../auth/user.ts";
import type { Caller } from "../resource/http/routed_request.ts";
import { Problem } from "../problem/problem.ts";
import type { ProblemSlug } from "../protocol/problem_codes.ts";
import type { Middleware, Router } from "./middleware.ts";

/** Answers a request that has passed the middleware; never rejects. */
export type AnswerRequest = (request: Request, caller: Caller) => Promise<Response>;

/** What stands before the resources, and what becomes of its failures. */
export interface MiddlewareOptions {
  /** In the order in which they run. */
  readonly middleware: readonly Middleware[];
  /** A foreign router, and the path that it is mounted at. */
  readonly routes: Router | undefined;
  readonly routesPath: string;
  readonly answer: AnswerRequest;
  /** What a middleware set as `user` → the user. */
  readonly parseUser: (value: unknown) => User | null;
  /** The answer to what was thrown on the way. */
  readonly fail: (error: unknown, request: Request) => Response;
  /** Mends a response that was made or touched by others. */
  readonly adopt: (response: Response) => Response;
}

/** A `fetch` that never rejects, through any Hono middleware. */
export function createMiddlewareChain(
  options: MiddlewareOptions,
): (request: Request, info?: unknown) => Promise<Response> {
  const { middleware: before, routes, routesPath, answer, parseUser: readUser, fail, adopt } =
    options;
  // Nobody else makes or touches these answers: there is no header in them that was not checked.
  if (before.length === 0 && routes === undefined) {
    return (request, info) => answer(request, new AnonymousCaller(info));
  }
  const hono = new Hono<{ Variables: { user: unknown } }>();
  for (const middleware of before) {
    // Our context type names the part of Hono's that is promised; what runs is Hono's own.
    hono.use("*", middleware as unknown as Parameters<typeof hono.use>[1]);
  }
  if (routes !== undefined) {
    // What a router takes beside the request is its own: Hono's take what the listener knows.
    const handle = routes.fetch.bind(routes) as (request: Request, info: unknown) => Response;
    hono.mount(routesPath, handle);
  }
  hono.all("*", (context) => {
    const user = () => readUser(context.get("user"));
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
      // Hono passes on what is no Error, and a response may be none that can be sent.
      return fail(error, request);
    }
  };
}

/** Nobody has said who it is. A class, because one is made for every request. */
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

/** What the listener tells of the socket; null where nothing is told. */
function remoteAddress(info: unknown): string | null {
  if (typeof info !== "object" || info === null || !("remoteAddr" in info)) return null;
  const { remoteAddr } = info;
  if (typeof remoteAddr !== "object" || remoteAddr === null) return null;
  return "hostname" in remoteAddr && typeof remoteAddr.hostname === "string"
    ? remoteAddr.hostname
    : null;
}

/** What the listener tells of the answer; null where nothing is told. */
function deliveryOf(info: unknown): Promise<unknown> | null {
  if (typeof info !== "object" || info === null || !("completed" in info)) return null;
  return info.completed instanceof Promise ? info.completed : null;
}

/** The statuses that middlewares throw, as problems. */
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

/** Hono's `HTTPException`, known by its structure, says what its thrower wants answered. */
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
