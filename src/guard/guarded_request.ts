import type { User } from "../auth/user.ts";

/** A guarded request: the facts of a request that determine its admission. */
export interface GuardedRequest {
  readonly request: Request;
  /** The raw target, with the query without its question mark. */
  readonly target: { readonly path: string; readonly query: string };
  readonly user: User | null;
  /** Returns the client's address, or null if it is unknown. */
  address(): string | null;
  /** Returns the raw body, which is read once. Returns no bytes for operations without a body. */
  body(): Promise<Uint8Array>;
}
