import type { Context, HonoRequest, MiddlewareHandler } from "@hono/hono";
import { Problem } from "../problem/problem.ts";
import { type BodyLimits, receiveBody } from "../resource/http/request_body.ts";
import type { Clock } from "../runtime/runtime.ts";
import { innerRequestOf } from "./live/inner_request.ts";
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
    const inner = innerRequestOf(context.env);
    if (inner !== null) context.set("user", inner.user);
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
  // Bound: a closure here keeps the objects of each request until the next major collection of V8,
  // so that the minor ones took a sixth of the time.
  context.header = setEarlyHeader.bind(null, context, context.header);
}

function setEarlyHeader(
  context: Context<AppEnv>,
  header: Context["header"],
  ...args: Parameters<Context["header"]>
): void {
  void context.res;
  header(...args);
}

/**
 * Whatever form a middleware reads the body in, Hono takes it from these bytes, which are read once,
 * within the limits. Without that, `c.req.json()` would leave a string that no longer shows whether
 * the bytes were UTF-8.
 */
function keepBytes({ req }: Context<AppEnv>, limits: BodyLimits, clock: Clock): void {
  // Another app that this one is mounted in has read it.
  if (req.raw.bodyUsed) return;
  // The cache holds promises, which its type leaves out.
  req.bodyCache = new BodyOfContext(req, limits, clock) as unknown as typeof req.bodyCache;
}

/**
 * The body of a request where Hono looks for it. A class: V8 gives each object literal with a getter
 * a hidden class of its own, which keeps the request until the next major collection.
 */
class BodyOfContext {
  /** The form in which Hono finds it: its own property, by name. */
  declare readonly arrayBuffer: Promise<ArrayBuffer>;
  readonly #request: HonoRequest;
  readonly #limits: BodyLimits;
  readonly #clock: Clock;
  #reading: Promise<ArrayBuffer> | null = null;

  /** Reads nothing before it is asked to. */
  constructor(request: HonoRequest, limits: BodyLimits, clock: Clock) {
    this.#request = request;
    this.#limits = limits;
    this.#clock = clock;
    Object.defineProperty(this, "arrayBuffer", asOwnProperty);
  }

  /** True if anything has asked for it. */
  get isRead(): boolean {
    return this.#reading !== null;
  }

  /** The bytes, which are read once, of the request that a middleware may have put in its place. */
  read(): Promise<ArrayBuffer> {
    return this.#reading ??= receive(this.#request.raw, this.#limits, this.#clock);
  }
}

/** Returns true if the body of a request still stands in it, although Hono would find it elsewhere. */
export function isBodyUnread({ bodyCache, raw }: HonoRequest): boolean {
  const cache: unknown = bodyCache;
  return cache instanceof BodyOfContext && !cache.isRead && !raw.bodyUsed;
}

const asOwnProperty = {
  get(this: BodyOfContext): Promise<ArrayBuffer> {
    return this.read();
  },
  enumerable: true,
};

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
