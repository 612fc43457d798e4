import type { Transport } from "./transport.ts";

/**
 * The key under which a client and each of its resources say how they send: for the parts of the
 * client that are imported beside it. It is the same in two copies of this package.
 */
export const handle: unique symbol = Symbol.for("resource-api");

/** What a client or one of its resources says of itself under {@link handle}. */
export interface Handle<Resource = unknown> {
  /** What sends its requests. */
  readonly transport: Transport;
  /** `/api/posts` for a resource, `/api` for the client. */
  readonly path: string;
  /** What its `Api` says of a resource: only the compiler sees it. */
  readonly resource?: Resource;
}

/** A client, or one of its resources. */
export interface HasHandle<Resource = unknown> {
  /** What it says of itself. */
  readonly [handle]: Handle<Resource>;
}
