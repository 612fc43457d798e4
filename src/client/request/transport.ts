import { browserEnvironment, type ClientEnvironment } from "../environment.ts";
import type { CreateClientOptions } from "./client_options.ts";
import { createTokens } from "./tokens.ts";
import { answerError, ServiceError } from "./service_error.ts";
import { solveChallenge } from "./solve_challenge.ts";

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
  readonly method: string;
  /** From the root, with the query: `/api/posts?limit=1`. */
  readonly path: string;
  readonly headers?: Readonly<Record<string, string>> | undefined;
  /** Sent as JSON. */
  readonly body?: unknown;
  readonly signal?: AbortSignal | undefined;
  /** That of the client unless set; 0 is without limit, and gives the body as it arrives. */
  readonly timeoutMs?: number | undefined;
}

/** Makes the transport of a client. */
export function createTransport(options: CreateClientOptions): Transport {
  const environment: ClientEnvironment = {
    ...browserEnvironment(),
    ...options.environment,
    ...(options.fetch && { fetch: options.fetch }),
  };
  const { basePath = "/api", timeoutMs = 30_000, pow } = options;
  const baseUrl = options.baseUrl.replace(/\/+$/, "");
  const maxAttempts = pow?.maxAttempts ?? 3;
  const tokens = createTokens(options.token);

  async function send(request: ClientRequest): Promise<Response> {
    const { signal } = request;
    const body = request.body === undefined ? null : JSON.stringify(request.body);
    const limit = request.timeoutMs ?? timeoutMs;
    const isStream = request.timeoutMs === 0;
    let token = await tokens.current();
    let isRefreshed = false;
    let solution: Readonly<Record<string, string>> | null = null;
    for (let attempts = 0;;) {
      const headers = {
        accept: "application/json",
        ...(body !== null && { "content-type": "application/json" }),
        ...(token.value !== null && { authorization: `Bearer ${token.value}` }),
        ...options.headers,
        ...request.headers,
        ...solution,
      };
      const init = { method: request.method, headers, body };
      const exchange = { url: baseUrl + request.path, init, limit, isStream, signal };
      const response = await answerOf(environment, exchange);
      if (response.ok || response.status === 304) return response;
      const error = await answerError(response, environment.now());
      if (error.status === 401 && !isRefreshed) {
        isRefreshed = true;
        const next = await tokens.after(token);
        if (next === null) throw error;
        token = next;
        continue;
      }
      if (attempts++ >= maxAttempts) throw error;
      solution = await solveChallenge(error, response.headers, options, signal);
      if (solution === null) throw error;
    }
  }

  return { baseUrl, basePath, environment, send, parts: new Map() };
}

/** One exchange of a request and an answer. */
interface Exchange {
  readonly url: string;
  readonly init: RequestInit;
  /** The milliseconds that it may take; 0 is without limit. */
  readonly limit: number;
  readonly isStream: boolean;
  readonly signal: AbortSignal | undefined;
}

/** Sends one request. The whole body has arrived when this resolves, unless it is a stream. */
async function answerOf(
  { fetch, after }: ClientEnvironment,
  { url, init, limit, isStream, signal }: Exchange,
): Promise<Response> {
  signal?.throwIfAborted();
  const ending = new AbortController();
  const end = () => ending.abort();
  let isLate = false;
  const cancel = limit === 0 ? end : after(limit, () => {
    isLate = true;
    end();
  });
  if (!isStream) signal?.addEventListener("abort", end);
  try {
    const ended = isStream ? signal ?? null : ending.signal;
    const response = await fetch(new Request(url, { ...init, signal: ended }));
    if (isStream && response.ok) return response;
    // An answer without a body, as 204 and 304, may not be made with an empty one.
    return new Response(await response.text() || null, response);
  } catch (cause) {
    signal?.throwIfAborted();
    if (isLate) throw new ServiceError("timeout", `No answer in ${limit} ms`, { cause });
    throw new ServiceError("network", `No answer: ${cause}`, { cause });
  } finally {
    cancel();
    signal?.removeEventListener("abort", end);
  }
}
