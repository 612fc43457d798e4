import type { Transport } from "./transport.ts";

/**
 * The key under which a client and each of its resources expose the transport. Functions outside
 * the client, such as `createOutbox`, use the key, even in another copy of the package.
 */
export const handle: unique symbol = Symbol.for("resource-api");

/** The members that a client or one of its resources exposes under {@link handle}. */
export interface Handle<Resource = unknown> {
  /** Sends the requests. */
  readonly transport: Transport;
  /** The URL path: `/api/posts` for a resource, `/api` for the client. */
  readonly path: string;
  /** The types of the resource. This member is never set. It exists only for the compiler. */
  readonly resource?: Resource;
}

/** A client, or one of its resources. */
export interface HasHandle<Resource = unknown> {
  /** The transport and the path. */
  readonly [handle]: Handle<Resource>;
}
