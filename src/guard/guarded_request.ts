import type { User } from "../auth/user.ts";

/** A request that wants to be let in. */
export interface GuardedRequest {
  readonly request: Request;
  /** Raw, the query without the question mark. */
  readonly target: { readonly path: string; readonly query: string };
  readonly user: User | null;
  /** The client's address; null where nobody tells it. */
  address(): string | null;
  /** The body as it came, read once; empty for operations that take none. */
  body(): Promise<Uint8Array>;
}
