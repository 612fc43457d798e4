import type { Context, HonoRequest, MiddlewareHandler } from "@hono/hono";
import { parseUser, type User } from "../auth/user.ts";
import type { StreamPart } from "../live/stream/stream_part.ts";
import { Problem } from "../problem/problem.ts";
import type { Caller } from "../resource/routes/routed_request.ts";
import type { AppEnv, Middleware } from "./middleware.ts";
import { type BodyLimits, receiveBody } from "../resource/http/request_body.ts";
import type { Clock } from "../runtime/runtime.ts";

/** The caller if no middleware runs. It is a class, because each request creates one. */
export class DirectCaller implements Caller {
  readonly #info: unknown;
  #user: User | null = null;

  /** `info` contains the listener's facts about the connection. */
  constructor(info: unknown) {
    this.#info = info;
    this.#user = parseUser(innerRequestOf(info)?.user);
  }

  /** Sets the user that an authenticator has identified, unless it is null. */
  identifyAs(user: User | null): void {
    this.#user = user ?? this.#user;
  }

  /** Returns the user that an authenticator has identified; null without one. */
  user(): User | null {
    return this.#user;
  }

  /** Returns the address of the peer; null without one. */
  address(): string | null {
    return remoteAddress(this.#info);
  }

  /** Returns a promise for the end of the response, or null if the listener reports none. */
  delivered(): Promise<unknown> | null {
    return deliveryOf(this.#info);
  }

  /** Returns the part of a multiplexed stream that the request opens; null without one. */
  part(): StreamPart | null {
    return innerRequestOf(this.#info)?.part ?? null;
  }

  /** Returns null, because no middleware has read the body. */
  receivedBody(): null {
    return null;
  }

  /** Returns null, because the body is still in the request. */
  readBodyBefore(): null {
    return null;
  }
}

/** The caller that middlewares identified in the Hono context. */
export class HonoCaller implements Caller {
  readonly #context: Context<AppEnv>;
  readonly #parseUser: (value: unknown) => User | null;

  /** `parseUser` parses the value that was set as `user`. */
  constructor(context: Context<AppEnv>, parseUser: (value: unknown) => User | null) {
    this.#context = context;
    this.#parseUser = parseUser;
  }

  /** Returns the user that a middleware has set; null without one. */
  user(): User | null {
    const user = this.#context.get("user");
    return this.#parseUser(user === undefined ? innerRequestOf(this.#context.env)?.user : user);
  }

  /** Returns the address of the peer; null without one. */
  address(): string | null {
    return remoteAddress(this.#context.env);
  }

  /** Returns a promise for the end of the response, or null if the listener reports none. */
  delivered(): Promise<unknown> | null {
    return deliveryOf(this.#context.env);
  }

  /** Returns the part of a multiplexed stream that the request opens; null without one. */
  part(): StreamPart | null {
    return innerRequestOf(this.#context.env)?.part ?? null;
  }

  /** Returns the body through Hono's cache, if a middleware has read it or may read it later. */
  receivedBody(): Promise<Uint8Array<ArrayBuffer>> | null {
    const { req } = this.#context;
    const [form] = Object.keys(req.bodyCache);
    if (form === undefined) return req.raw.bodyUsed ? Promise.reject(bodyWasConsumed()) : null;
    const bytes = req.arrayBuffer().then((buffer) => new Uint8Array(buffer));
    return form === "arrayBuffer" ? bytes : bytes.then(requireExact);
  }

  /** Returns the body if a middleware has read it, or null if it is still in the request. */
  readBodyBefore(): Promise<Uint8Array<ArrayBuffer>> | null {
    return isBodyUnread(this.#context.req) ? null : this.receivedBody();
  }
}

/**
 * Throws for a replacement character in a body that another app has read as a string, because the
 * encoded bytes may differ from the sent bytes.
 */
function requireExact(bytes: Uint8Array<ArrayBuffer>): Uint8Array<ArrayBuffer> {
  if (!new TextDecoder().decode(bytes).includes("\ufffd")) return bytes;
  throw new Problem("invalid-body", "Cannot read this body: it may not be UTF-8");
}

/** Returns the peer's address as the listener reports it, or null if it reports none. */
function remoteAddress(info: unknown): string | null {
  if (typeof info !== "object" || info === null || !("remoteAddr" in info)) return null;
  const { remoteAddr } = info;
  if (typeof remoteAddr !== "object" || remoteAddr === null) return null;
  return "hostname" in remoteAddr && typeof remoteAddr.hostname === "string"
    ? remoteAddr.hostname
    : null;
}

/** Returns a promise for the end of the response, as the listener reports it, or null. */
function deliveryOf(info: unknown): Promise<unknown> | null {
  if (typeof info !== "object" || info === null || !("completed" in info)) return null;
  return info.completed instanceof Promise ? info.completed : null;
}

/**
 * Returns the first middleware of a chain, extended to prepare the context for all that follow. Two
 * features then work as Hono documents them, although the routes create their own responses and
 * read bytes. An additional middleware would cost each request a promise.
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
 * Keeps headers that a middleware sets before `next()`. Hono adds such headers to a response that
 * it did not create only if `c.res` existed before.
 */
function keepEarlyHeaders(context: Context<AppEnv>): void {
  // A closure here would keep the objects of each request until the next major collection of V8,
  // and minor collections took a sixth of the time.
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
 * Keeps the bytes of the body. Hono derives every form of the body from them, and they are read
 * once, within the limits. Otherwise `c.req.json()` would leave a string that no longer shows
 * whether the bytes were UTF-8.
 */
function keepBytes({ req }: Context<AppEnv>, limits: BodyLimits, clock: Clock): void {
  // Another app, in which this app is mounted, has read the body.
  if (req.raw.bodyUsed) return;
  // The cache contains promises, which its type omits.
  req.bodyCache = new BodyOfContext(req, limits, clock) as unknown as typeof req.bodyCache;
}

/**
 * The body of a request in the place where Hono expects it. This is a class, because V8 creates a
 * separate hidden class for each object literal with a getter. That hidden class keeps the request
 * until the next major collection.
 */
class BodyOfContext {
  /** The form in which Hono finds the body: an own property with this name. */
  declare readonly arrayBuffer: Promise<ArrayBuffer>;
  readonly #request: HonoRequest;
  readonly #limits: BodyLimits;
  readonly #clock: Clock;
  #reading: Promise<ArrayBuffer> | null = null;

  /** Creates the body. It is read only on demand. */
  constructor(request: HonoRequest, limits: BodyLimits, clock: Clock) {
    this.#request = request;
    this.#limits = limits;
    this.#clock = clock;
    Object.defineProperty(this, "arrayBuffer", asOwnProperty);
  }

  /** True if the body was requested. */
  get isRead(): boolean {
    return this.#reading !== null;
  }

  /** Returns the bytes, read once, of the request that a middleware may have replaced. */
  read(): Promise<ArrayBuffer> {
    return this.#reading ??= receive(this.#request.raw, this.#limits, this.#clock);
  }
}

/** Returns true if the body of a request is unread, although Hono would look for it elsewhere. */
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

/** Returns the error for a middleware that left no body for the routes. */
export function bodyWasConsumed(): Problem {
  return new Problem(
    "internal-error",
    "A middleware has consumed the body: it must read it by c.req, or from c.req.raw.clone()",
  );
}

/** The facts of a request that the service creates for a subscription of a client. */
export interface InnerRequest {
  /** The destination for the bytes of the subscription's stream. */
  readonly part: StreamPart;
  /** The user of the request that contains the subscription, as a middleware has set it. */
  readonly user: User | null | undefined;
}

/** Only this file uses this key, so a request from outside is never an inner request. */
const innerKey = Symbol("inner request");

/** Returns a copy of the facts of a connection, which disappear when the connection closes. */
export function keptInfo(info: unknown): object {
  const { remoteAddr, completed }: { remoteAddr?: unknown; completed?: unknown } = Object(info);
  // The facts of a listener are getters of a class, which a spread does not copy.
  return { ...Object(info), remoteAddr, completed };
}

/** Returns the facts for an inner request: facts of the connection and of the request. */
export function infoOfInner(info: object, inner: InnerRequest): object {
  return { ...info, [innerKey]: inner };
}

/** Returns the inner request with these facts, or null for any other request. */
export function innerRequestOf(info: unknown): InnerRequest | null {
  if (typeof info !== "object" || info === null || !(innerKey in info)) return null;
  // Only `infoOfInner` sets this member.
  return info[innerKey] as InnerRequest;
}
