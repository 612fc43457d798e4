import type { Context, MiddlewareHandler } from "@hono/hono";
import type { Credentials } from "../auth/authenticator.ts";
import { Problem } from "../problem/problem.ts";
import type { Observer } from "../runtime/runtime.ts";
import { isHttpException } from "./http_exception.ts";
import type { AppEnv, Middleware } from "./middleware.ts";

/** The authentication of an app, with exceptions for single paths. */
export interface Authentication {
  /** Identifies the user of a request, or refuses the request. */
  readonly authenticate: Middleware;
  /** Requests to this path are not authenticated. */
  readonly skip: MiddlewareHandler<AppEnv>;
  /** On this path, e.g. the login, a caller with a refused credential is anonymous. */
  readonly tolerate: MiddlewareHandler<AppEnv>;
}

/** Counts a request that authentication refused with 401. Throws a 429 above the rate limit. */
export type CountRefusal = (context: Context<AppEnv>) => Promise<void>;

/** Returns a middleware that runs the app's authenticators, then the deployer's middleware. */
export function createIdentifyMiddleware(
  identify: Credentials["identify"] | null,
  own: Middleware | undefined,
): Middleware | null {
  if (identify === null) return own ?? null;
  return async function identifyUser(context, next) {
    const user = await identify(context.req.raw);
    if (user !== null) context.set("user", user);
    return own === undefined ? await next() : await own(context, next);
  };
}

/** Creates the authentication of an app. `countRefusal` is null without rate limits. */
export function createAuthentication(
  given: Middleware,
  observe: Observer,
  countRefusal: CountRefusal | null,
): Authentication {
  const exceptions = new WeakMap<Context, "skip" | "tolerate">();
  return {
    authenticate(context, next) {
      const exception = exceptions.get(context);
      if (exception === undefined) {
        // Calling the middleware directly saves a promise.
        return countRefusal === null ? given(context, next) : counted(countRefusal, context, next);
      }
      return exception === "skip" ? next() : tolerated(context, next);
    },
    skip(context, next) {
      exceptions.set(context, "skip");
      return next();
    },
    tolerate(context, next) {
      exceptions.set(context, "tolerate");
      return next();
    },
  };

  async function counted(
    count: CountRefusal,
    ...[context, next]: Parameters<Middleware>
  ): Promise<Response | void> {
    let isPassed = false;
    let response: Response | void;
    try {
      response = await given(context, () => {
        isPassed = true;
        return next();
      });
    } catch (error) {
      const isWrong = (error instanceof Problem || isHttpException(error)) && error.status === 401;
      if (!isPassed && isWrong) await count(context);
      throw error;
    }
    if (!isPassed && response instanceof Response && response.status === 401) await count(context);
    return response;
  }

  async function tolerated(...[context, next]: Parameters<Middleware>): Promise<Response | void> {
    let isPassed = false;
    try {
      const response = await given(context, () => {
        isPassed = true;
        return next();
      });
      if (isPassed) return response;
    } catch (error) {
      if (isPassed) throw error;
      if (!isRefusal(error)) {
        const { method, path } = context.req;
        observe({ kind: "request_failed", method, path, error });
      }
    }
    context.set("user", null);
    await next();
  }
}

function isRefusal(error: unknown): boolean {
  return (error instanceof Problem || isHttpException(error)) && error.status < 500;
}
