import type { User } from "../auth/authorize.ts";

export interface GuardedRequest {
  readonly request: Request;
  /** The raw path, and the raw query without the question mark. */
  readonly target: { readonly path: string; readonly query: string };
  readonly user: User | null;
  /** Returns the client's address, or null if it is unknown. */
  address(): string | null;
  /** Reads the body. All calls return the same bytes, which are empty without a body. */
  body(): Promise<Uint8Array>;
}
