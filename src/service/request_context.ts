import type { Context, HonoRequest, MiddlewareHandler } from "@hono/hono";
import { parseUser, type User } from "../auth/authorize.ts";
import type { StreamPart } from "../live/stream/live_stream.ts";
import { Problem } from "../problem/problem.ts";
import type { Caller } from "../resource/routes/routed_request.ts";
import type { AppEnv, Middleware } from "./middleware.ts";
import { type BodyLimits, receiveBody } from "../resource/http/request_body.ts";
import type { Clock } from "../runtime/runtime.ts";

abstract class ConnectedCaller {
  protected readonly info: unknown;
  readonly isServedByDeno: boolean;

  constructor(info: unknown) {
    this.info = info;
    this.isServedByDeno = isServedByDeno(info);
  }

  address(): string | null {
    const { info } = this;
    if (typeof info !== "object" || info === null || !("remoteAddr" in info)) return null;
    const { remoteAddr } = info;
    if (typeof remoteAddr !== "object" || remoteAddr === null) return null;
    return "hostname" in remoteAddr && typeof remoteAddr.hostname === "string"
      ? remoteAddr.hostname
      : null;
  }

  /** Returns a promise for the end of the response; null if the server does not report the end. */
  delivered(): Promise<unknown> | null {
    const { info } = this;
    return isServedByDeno(info) && info.completed instanceof Promise ? info.completed : null;
  }

  part(): StreamPart | null {
    return findInnerRequest(this.info)?.part ?? null;
  }
}

/** The caller of a request without middlewares. A class, because instances are fast to create. */
export class DirectCaller extends ConnectedCaller implements Caller {
  #user: User | null;

  constructor(info: unknown) {
    super(info);
    this.#user = parseUser(findInnerRequest(info)?.user);
  }

  /** Sets the user that an authenticator has identified. Null changes nothing. */
  identifyAs(user: User | null): void {
    this.#user = user ?? this.#user;
  }

  user(): User | null {
    return this.#user;
  }

  /** Returns null: no middleware has read the body. */
  receivedBody(): null {
    return null;
  }

  /** Returns null: the request still contains the body. */
  readBodyBefore(): null {
    return null;
  }
}

export class HonoCaller extends ConnectedCaller implements Caller {
  readonly #context: Context<AppEnv>;
  readonly #parseUser: (value: unknown) => User | null;

  constructor(context: Context<AppEnv>, parseUser: (value: unknown) => User | null) {
    super(context.env);
    this.#context = context;
    this.#parseUser = parseUser;
  }

  user(): User | null {
    const user = this.#context.get("user");
    return this.#parseUser(user === undefined ? findInnerRequest(this.info)?.user : user);
  }

  /** Returns the body from Hono's cache; null if the cache is empty and the body unread. */
  receivedBody(): Promise<Uint8Array<ArrayBuffer>> | null {
    const { req } = this.#context;
    const [form] = Object.keys(req.bodyCache);
    if (form === undefined) return req.raw.bodyUsed ? Promise.reject(bodyConsumedError()) : null;
    const bytes = req.arrayBuffer().then((buffer) => new Uint8Array(buffer));
    return form === "arrayBuffer" ? bytes : bytes.then(requireExact);
  }

  readBodyBefore(): Promise<Uint8Array<ArrayBuffer>> | null {
    return isBodyUnread(this.#context.req) ? null : this.receivedBody();
  }
}

/** Throws if bytes may be lost because another app's middleware decoded the body as a string. */
function requireExact(bytes: Uint8Array<ArrayBuffer>): Uint8Array<ArrayBuffer> {
  if (!new TextDecoder().decode(bytes).includes("\ufffd")) return bytes;
  throw new Problem("invalid-body", "Cannot read this body: it may not be UTF-8");
}

/** Returns true if the server of Deno has passed `info`: only this server passes `completed`. */
export function isServedByDeno(info: unknown): info is { readonly completed: unknown } {
  return typeof info === "object" && info !== null && "completed" in info;
}

/** Prepares the context before `first`. A separate middleware would cost another promise. */
export function prepareContextFirst(
  first: Middleware,
  limits: BodyLimits,
  clock: Clock,
): MiddlewareHandler<AppEnv> {
  return (context, next) => {
    // Hono adds early headers only if `c.res` exists, so `c.header` first reads `c.res`. V8 would
    // keep the objects of a closure until its next major garbage collection, so the function is
    // bound instead. With a closure, minor collections took a sixth of the CPU time.
    context.header = setEarlyHeader.bind(null, context, context.header);
    const inner = findInnerRequest(context.env);
    if (inner !== null) context.set("user", inner.user);
    const { method } = context.req;
    if (method !== "GET" && method !== "HEAD") keepBytes(context, limits, clock);
    return first(context, next);
  };
}

function setEarlyHeader(
  context: Context<AppEnv>,
  header: Context["header"],
  ...args: Parameters<Context["header"]>
): void {
  void context.res;
  header(...args);
}

/** Keeps the body's bytes: Hono's `c.req.json()` keeps only a string, which hides invalid UTF-8. */
function keepBytes({ req }: Context<AppEnv>, limits: BodyLimits, clock: Clock): void {
  // If the body is used, a parent app has already read the body.
  if (req.raw.bodyUsed) return;
  // The cast is safe: the cache contains promises, although its type does not say so.
  req.bodyCache = new BodyOfContext(req, limits, clock) as unknown as typeof req.bodyCache;
}

/** Hono looks for the body here. A class: object literals with getters stay in memory longer. */
class BodyOfContext {
  /** The constructor defines this as an own property, because Hono finds only own properties. */
  declare readonly arrayBuffer: Promise<ArrayBuffer>;
  readonly #request: HonoRequest;
  readonly #limits: BodyLimits;
  readonly #clock: Clock;
  #reading: Promise<ArrayBuffer> | null = null;

  constructor(request: HonoRequest, limits: BodyLimits, clock: Clock) {
    this.#request = request;
    this.#limits = limits;
    this.#clock = clock;
    Object.defineProperty(this, "arrayBuffer", asOwnProperty);
  }

  get isRead(): boolean {
    return this.#reading !== null;
  }

  read(): Promise<ArrayBuffer> {
    return this.#reading ??= receive(this.#request.raw, this.#limits, this.#clock);
  }
}

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
  if (request.bodyUsed) throw bodyConsumedError();
  const { buffer, byteOffset, byteLength } = await receiveBody(request, limits, clock);
  return byteLength === buffer.byteLength
    ? buffer
    : buffer.slice(byteOffset, byteOffset + byteLength);
}

export function bodyConsumedError(): Problem {
  return new Problem(
    "internal-error",
    "A middleware has consumed the body: it must read it by c.req, or from c.req.raw.clone()",
  );
}

export interface InnerRequest {
  readonly part: StreamPart;
  /** The user that a middleware has set on the outer request, which lists the subscriptions. */
  readonly user: User | null | undefined;
}

/** Other files have no access to this symbol, so no request from outside can be internal. */
const innerKey = Symbol("inner request");

/** Copies a listener's information about a connection, which is lost when the connection ends. */
export function copyConnectionInfo(info: unknown): object {
  const { remoteAddr, completed }: { remoteAddr?: unknown; completed?: unknown } = Object(info);
  // The listener's object has these members as getters of its class, which a spread omits.
  return { ...Object(info), remoteAddr, completed };
}

/** Copies the information about a connection. The copy marks the request as internal. */
export function addInnerRequestInfo(info: object, inner: InnerRequest): object {
  return { ...info, [innerKey]: inner };
}

export function findInnerRequest(info: unknown): InnerRequest | null {
  if (typeof info !== "object" || info === null || !(innerKey in info)) return null;
  // The cast is safe: only `addInnerRequestInfo` sets this member.
  return info[innerKey] as InnerRequest;
}
