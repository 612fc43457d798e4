import type { Transport } from "./transport.ts";

/**
 * The key under which a client and each of its resources expose their transport. Parts of the
 * client that are imported separately need the transport. Two copies of this package share the key.
 */
export const handle: unique symbol = Symbol.for("resource-api");

/** The members that a client or one of its resources exposes under {@link handle}. */
export interface Handle<Resource = unknown> {
  /** Sends the requests. */
  readonly transport: Transport;
  /** The path: `/api/posts` for a resource, `/api` for the client. */
  readonly path: string;
  /** The `Api` of the resource. This member exists only for the compiler. */
  readonly resource?: Resource;
}

/** A client, or one of its resources. */
export interface HasHandle<Resource = unknown> {
  /** The transport and the path. */
  readonly [handle]: Handle<Resource>;
}
