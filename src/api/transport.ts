import type { ClientEnvironment } from "./client_environment.ts";

/** Sends the requests of a client, and holds the state of the client as a whole. */
export interface Transport {
  /** The base URL, without a slash at the end. */
  readonly baseUrl: string;
  /** The path of the service, such as `/api`. */
  readonly basePath: string;
  /** Time, random numbers, and the parts of a browser. */
  readonly environment: ClientEnvironment;
  /** The current token. */
  readonly tokens: { current(): Promise<Bearer> };
  /**
   * Sends a request: adds the token, refreshes it once after a 401, and solves challenges. Returns
   * a 304 or a response of the requested type. A proxy may respond with 200 and a page of another
   * type. Throws a {@link ServiceError} for every other response, and the reason of the signal.
   */
  send(request: ClientRequest): Promise<Response>;
  /** Parts that exist once in a client: its live connection, its overlays. */
  readonly parts: Map<unknown, unknown>;
}

/** A bearer token, or no token if `value` is empty. */
export interface Bearer {
  /** The token as its source returned it. */
  readonly value?: string | null | undefined | false;
}

/** A request of a client. */
export interface ClientRequest {
  /** The method, such as `GET`. */
  readonly method: string;
  /** The path from the root, with the query: `/api/posts?limit=1`. */
  readonly path: string;
  /** The headers; a header without a value is not sent. */
  readonly headers?: RequestHeaders | undefined;
  /** The body, which is sent as JSON. */
  readonly body?: unknown;
  /** Ends the request. */
  readonly signal?: AbortSignal | undefined;
  /**
   * Timeout in milliseconds; the timeout of the client unless set. With 0 there is no timeout, and
   * the caller receives the body as it arrives.
   */
  readonly timeoutMs?: number | undefined;
}

/** The headers of a request. A header without a value is not sent. */
export type RequestHeaders = Readonly<Record<string, string | null | undefined | false>>;
