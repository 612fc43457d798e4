import type { ClientEnvironment, RequestEnvironment } from "./client_environment.ts";

/** Sends the requests of a client, and holds the state that all parts of the client share. */
export interface Transport {
  /** The base URL, without a slash at the end. */
  readonly baseUrl: string;
  /** The path of the service, such as `/api`. */
  readonly basePath: string;
  /** The environment of the client. `pageEnvironmentOf` adds the members that are missing. */
  readonly environment: RequestEnvironment & Partial<ClientEnvironment>;
  /** The source of the current bearer token. */
  readonly tokens: { current(): Promise<Bearer> };
  /**
   * Sends a request: adds the token, refreshes it once after a 401, and solves challenges (proof of
   * work or CAPTCHA). Returns the service's JSON, an event stream or a 304. For any other response,
   * throws a {@link ServiceError}; after an abort, throws the signal's reason.
   */
  send(request: ClientRequest): Promise<Response>;
  /** Objects that all parts of a client share, such as the connection of its live lists. */
  readonly parts: Map<unknown, unknown>;
}

/** A bearer token, or no token if `value` is empty. */
export interface Bearer {
  /** The token, exactly as the source of tokens returned it. */
  readonly value?: string | null | undefined | false;
}

/** A request of a client. */
export interface ClientRequest {
  /** The method, such as `GET`. */
  readonly method: string;
  /** The path from the root, with the query: `/api/posts?limit=1`. */
  readonly path: string;
  /** The headers. A header without a value is not sent. */
  readonly headers?: RequestHeaders | undefined;
  /** The body, which is sent as JSON. */
  readonly body?: unknown;
  /** Replaces the `fetch` of the client, for example to send a body that is not JSON. */
  readonly fetch?: ClientEnvironment["fetch"] | undefined;
  /** Aborts the request. */
  readonly signal?: AbortSignal | undefined;
  /** Timeout in milliseconds. 0 means no timeout and a streamed response. Default: the client's. */
  readonly timeoutMs?: number | undefined;
}

/** The headers of a request. A header without a value is not sent. */
export type RequestHeaders = Readonly<Record<string, string | null | undefined | false>>;
