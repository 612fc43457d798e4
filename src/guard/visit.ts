import type { User } from "../auth/user.ts";

/** A request that wants to be let in. */
export interface Visit {
  readonly request: Request;
  /** Raw, from the request target. */
  readonly path: string;
  /** Raw, without the question mark. */
  readonly query: string;
  readonly user: User | null;
  /** The client's address; null where nobody tells it. */
  address(): string | null;
  /** The body as it came, read once; empty for operations that take none. */
  body(): Promise<Uint8Array>;
}
