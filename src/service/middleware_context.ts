import type { Context, MiddlewareHandler } from "@hono/hono";
import { Problem } from "../problem/problem.ts";
import { type BodyLimits, receiveBody } from "../resource/http/request_body.ts";
import type { Clock } from "../runtime/runtime.ts";
import type { AppEnv, Middleware } from "./middleware.ts";

/**
 * Makes the first middleware of a chain prepare the context for all that follow, so that two things
 * work as Hono documents them although the routes make their own responses and read bytes. It wraps
 * the first one, because a middleware more costs each request a promise.
 */
export function preparingContext(
  first: Middleware,
  limits: BodyLimits,
  clock: Clock,
): MiddlewareHandler<AppEnv> {
  return (context, next) => {
    keepEarlyHeaders(context);
    const { method } = context.req;
    if (method !== "GET" && method !== "HEAD") keepBytes(context, limits, clock);
    return first(context, next);
  };
}

/**
 * A header that is set before `next()` reaches a response which Hono did not make only if `c.res`
 * existed by then.
 */
function keepEarlyHeaders(context: Context<AppEnv>): void {
  const { header } = context;
  context.header = (...args) => {
    void context.res;
    header(...args);
  };
}

/**
 * Whatever form a middleware reads the body in, Hono takes it from these bytes, which are read once,
 * within the limits. Without that, `c.req.json()` would leave a text that no longer shows whether
 * the bytes were UTF-8.
 */
function keepBytes({ req }: Context<AppEnv>, limits: BodyLimits, clock: Clock): void {
  // Another app that this one is mounted in has read it.
  if (req.raw.bodyUsed) return;
  let reading: Promise<ArrayBuffer> | null = null;
  // The cache holds promises, which its type leaves out.
  req.bodyCache = {
    get arrayBuffer(): Promise<ArrayBuffer> {
      return reading ??= receive(req.raw, limits, clock);
    },
  } as unknown as typeof req.bodyCache;
}

async function receive(request: Request, limits: BodyLimits, clock: Clock): Promise<ArrayBuffer> {
  if (request.bodyUsed) throw bodyWasConsumed();
  const { buffer, byteOffset, byteLength } = await receiveBody(request, limits, clock);
  return byteLength === buffer.byteLength
    ? buffer
    : buffer.slice(byteOffset, byteOffset + byteLength);
}

/** The fault of a middleware that left no body for the routes. */
export function bodyWasConsumed(): Problem {
  return new Problem(
    "internal-error",
    "A middleware has consumed the body: it must read it by c.req, or from c.req.raw.clone()",
  );
}
