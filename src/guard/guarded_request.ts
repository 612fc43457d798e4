import type { User } from "../auth/user.ts";

/** A guarded request: what the guard needs of a request to decide on its admission. */
export interface GuardedRequest {
  readonly request: Request;
  /** As the client sent it, the query without the question mark. */
  readonly target: { readonly path: string; readonly query: string };
  readonly user: User | null;
  /** The client's address; null if it is unknown. */
  address(): string | null;
  /** The raw body, read once; empty for operations that take none. */
  body(): Promise<Uint8Array>;
}
