import type { ClientEnvironment } from "./client_environment.ts";

/** Sends the requests of a client, and has what belongs to the client as a whole. */
export interface Transport {
  /** Without a slash at the end. */
  readonly baseUrl: string;
  /** `/api`. */
  readonly basePath: string;
  /** Time, chance, and the parts of a browser. */
  readonly environment: ClientEnvironment;
  /** The token of now. */
  readonly tokens: { current(): Promise<Bearer> };
  /**
   * Sends a request: adds the token, refreshes it once after a 401, solves challenges. Gives a 304
   * and what has the type that was asked for, which only the service answers: the page of a proxy may
   * be a 200. Throws a {@link ServiceError} for everything else, and the reason of the signal.
   */
  send(request: ClientRequest): Promise<Response>;
  /** Parts that are made once for a client: its live connection, its overlays. */
  readonly parts: Map<unknown, unknown>;
}

/** A bearer token; without a value there is none. */
export interface Bearer {
  /** The token as its source has given it. */
  readonly value?: string | null | undefined | false;
}

/** A request of a client. */
export interface ClientRequest {
  /** `GET`. */
  readonly method: string;
  /** From the root, with the query: `/api/posts?limit=1`. */
  readonly path: string;
  /** Those without a value are left out. */
  readonly headers?: RequestHeaders | undefined;
  /** Sent as JSON. */
  readonly body?: unknown;
  /** Ends the request. */
  readonly signal?: AbortSignal | undefined;
  /** That of the client unless set; 0 is without limit, and gives the body as it arrives. */
  readonly timeoutMs?: number | undefined;
}

/** The headers of a request; those without a value are not sent. */
export type RequestHeaders = Readonly<Record<string, string | null | undefined | false>>;
