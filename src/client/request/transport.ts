import { browserEnvironment, type ClientEnvironment } from "../environment.ts";
import type { CreateClientOptions } from "./client_options.ts";
import { createTokens } from "./tokens.ts";
import { answerError, ServiceError } from "./service_error.ts";

/** Sends the requests of a client, and has what belongs to the client as a whole. */
export interface Transport {
  /** Without a slash at the end. */
  readonly baseUrl: string;
  /** `/api`. */
  readonly basePath: string;
  /** Time, chance, and the parts of a browser. */
  readonly environment: ClientEnvironment;
  /**
   * Sends a request: adds the token, refreshes it once after a 401, solves challenges. Gives every
   * 2xx and 304; throws a {@link ServiceError} for everything else, and the reason of the signal.
   */
  send(request: ClientRequest): Promise<Response>;
  /** Parts that are made once for a client: its live connection, its overlays. */
  readonly parts: Map<unknown, unknown>;
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

/** Makes the transport of a client. */
export function createTransport(options: CreateClientOptions): Transport {
  const environment: ClientEnvironment = {
    ...browserEnvironment(),
    ...options.environment,
    ...(options.fetch && { fetch: options.fetch }),
  };
  const { basePath = "/api" } = options;
  const baseUrl = options.baseUrl.replace(/\/$/, "");
  const tokens = createTokens(options.token);

  async function send(request: ClientRequest): Promise<Response> {
    // Undefined where there is none, whatever the type of this function says.
    const body: string | undefined = JSON.stringify(request.body);
    let token = await tokens.current();
    let isRefreshed = false;
    let solution: RequestHeaders = {};
    for (let attempts = 0;; attempts++) {
      const response = await exchange(request, body, {
        "content-type": body && "application/json",
        accept: "application/json;numbers=safe",
        authorization: token.value && `Bearer ${token.value}`,
        ...options.headers,
        ...request.headers,
        ...solution,
      });
      if (response.ok || response.status === 304) return response;
      const error = await answerError(response);
      // Only the service asks for a proof, or for another token.
      const status = error.problem?.status;
      if (status === 428) {
        const { solveChallenge } = await import("./challenge.ts");
        solution = await solveChallenge({ error, response, request, attempts }, options);
      } else if (status === 401 && !isRefreshed) {
        isRefreshed = true;
        token = await tokens.after(token);
        if (!token.value) throw error;
      } else throw error;
    }
  }

  /** Sends it once and follows no redirect. The body has arrived, unless it is a stream. */
  async function exchange(
    { method, path, signal, timeoutMs }: ClientRequest,
    body: string | undefined,
    headers: RequestHeaders,
  ): Promise<Response> {
    signal?.throwIfAborted();
    const limit = timeoutMs ?? options.timeoutMs ?? 30_000;
    const late = new AbortController();
    const cancel = limit > 0 ? environment.after(limit, () => late.abort()) : null;
    try {
      const response = await environment.fetch(
        new Request(baseUrl + path, {
          method,
          // Headers without a value were just left out, and a body may be undefined.
          headers: Object.entries(headers).filter(([, value]) => value) as [string, string][],
          body: body as string,
          redirect: "manual",
          signal: AbortSignal.any([late.signal, signal ?? late.signal]),
        }),
      );
      if (timeoutMs === 0 && response.ok) return response;
      // An answer without a body, as 204 and 304, may not be made with an empty one.
      return new Response(await response.text() || null, response);
    } catch (cause) {
      signal?.throwIfAborted();
      const slug = late.signal.aborted ? "timeout" : "network";
      throw new ServiceError(slug, `${slug}: ${cause}`, { cause });
    } finally {
      cancel?.();
    }
  }

  return { baseUrl, basePath, environment, send, parts: new Map() };
}
