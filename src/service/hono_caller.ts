import type { Context } from "@hono/hono";
import { parseUser, type User } from "../auth/user.ts";
import type { StreamPart } from "../live/stream/stream_part.ts";
import { Problem } from "../problem/problem.ts";
import type { Caller } from "../resource/routes/routed_request.ts";
import { innerRequestOf } from "./live/inner_request.ts";
import { bodyWasConsumed, isBodyUnread } from "./middleware_context.ts";
import type { AppEnv } from "./middleware.ts";

/** The caller where no middleware runs. A class, because each request makes one. */
export class DirectCaller implements Caller {
  readonly #info: unknown;
  #user: User | null = null;

  /** `info` is what the listener reports of the connection. */
  constructor(info: unknown) {
    this.#info = info;
    this.#user = parseUser(innerRequestOf(info)?.user);
  }

  /** An authenticator has identified the user; null if it knows none. */
  identifyAs(user: User | null): void {
    this.#user = user ?? this.#user;
  }

  /** The user that an authenticator has identified; null without one. */
  user(): User | null {
    return this.#user;
  }

  /** The address of the peer; null without one. */
  address(): string | null {
    return remoteAddress(this.#info);
  }

  /** The completion of the response; null if it is not reported. */
  delivered(): Promise<unknown> | null {
    return deliveryOf(this.#info);
  }

  /** The part of a multiplexed stream that the request opens; null for any other request. */
  part(): StreamPart | null {
    return innerRequestOf(this.#info)?.part ?? null;
  }

  /** No middleware has read the body. */
  receivedBody(): null {
    return null;
  }

  /** It stands in the request. */
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

  /** The user that a middleware has set; null without one. */
  user(): User | null {
    const user = this.#context.get("user");
    return this.#parseUser(user === undefined ? innerRequestOf(this.#context.env)?.user : user);
  }

  /** The address of the peer; null without one. */
  address(): string | null {
    return remoteAddress(this.#context.env);
  }

  /** The completion of the response; null if it is not reported. */
  delivered(): Promise<unknown> | null {
    return deliveryOf(this.#context.env);
  }

  /** The part of a multiplexed stream that the request opens; null for any other request. */
  part(): StreamPart | null {
    return innerRequestOf(this.#context.env)?.part ?? null;
  }

  /** The body by way of Hono's cache, where a middleware has read it or may read it later. */
  receivedBody(): Promise<Uint8Array<ArrayBuffer>> | null {
    const { req } = this.#context;
    const [form] = Object.keys(req.bodyCache);
    if (form === undefined) return req.raw.bodyUsed ? Promise.reject(bodyWasConsumed()) : null;
    const bytes = req.arrayBuffer().then((buffer) => new Uint8Array(buffer));
    return form === "arrayBuffer" ? bytes : bytes.then(requireExact);
  }

  /** The body, where a middleware has read it; null if it stands in the request. */
  readBodyBefore(): Promise<Uint8Array<ArrayBuffer>> | null {
    return isBodyUnread(this.#context.req) ? null : this.receivedBody();
  }
}

/**
 * A body that another app has read as text is encoded again: where it holds a replacement character,
 * its bytes may have been no UTF-8.
 */
function requireExact(bytes: Uint8Array<ArrayBuffer>): Uint8Array<ArrayBuffer> {
  if (!new TextDecoder().decode(bytes).includes("\ufffd")) return bytes;
  throw new Problem("invalid-body", "Cannot read this body: it may not be UTF-8");
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
