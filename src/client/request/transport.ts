import { requestEnvironment } from "../environment.ts";
import type { CreateClientOptions } from "./client_options.ts";
import { createTokens } from "./tokens.ts";
import { errorOfResponse, ServiceError } from "./service_error.ts";
import type { ClientRequest, RequestHeaders, Transport } from "../../api/transport.ts";

/** Matches the content types that only responses of the service have. */
const answerType = /^(application\/json;.*numbers=safe|text\/event-stream)/;

export function createTransport(options: CreateClientOptions): Transport {
  const environment: Transport["environment"] = {
    ...requestEnvironment(),
    ...options.environment,
    ...(options.fetch && { fetch: options.fetch }),
  };
  const { basePath = "/api" } = options;
  const baseUrl = options.baseUrl.replace(/\/$/, "");
  const tokens = createTokens(options.token);

  async function send(request: ClientRequest): Promise<Response> {
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
      // Without the header, `test` gets "null", which does not match.
      const type = response.headers.get("content-type")!;
      if (response.status === 304 || answerType.test(type)) return response;
      const error = await errorOfResponse(response, environment.now());
      // A proxy can also respond with 428 or 401, but then `error.problem` is null.
      const status = error.problem?.status;
      if (status === 428) {
        const { solveChallenge } = await import("../rarely_needed.ts");
        solution = await solveChallenge({ error, response, request, attempts }, options);
      } else if (status === 401 && !isRefreshed) {
        isRefreshed = true;
        token = await tokens.after(token);
        if (!token.value) throw error;
      } else throw error;
    }
  }

  async function exchange(
    { fetch = environment.fetch, method, path, signal, timeoutMs }: ClientRequest,
    body: string | undefined,
    headers: RequestHeaders,
  ): Promise<Response> {
    signal?.throwIfAborted();
    const limit = timeoutMs ?? options.timeoutMs ?? 30_000;
    const late = new AbortController();
    const cancel = limit > 0 ? environment.after(limit, () => late.abort()) : null;
    try {
      const response = await fetch(
        new Request(baseUrl + path, {
          method,
          // The filter leaves only strings. `fetch` accepts an undefined body.
          headers: Object.entries(headers).filter(([, value]) => value) as [string, string][],
          body: body as string,
          redirect: "manual",
          signal: AbortSignal.any([late.signal, signal ?? late.signal]),
        }),
      );
      if (timeoutMs === 0 && response.ok) return response;
      // With a status such as 204 or 304, `new Response` accepts null, but not "".
      return new Response(await response.text() || null, response);
    } catch (cause) {
      signal?.throwIfAborted();
      const slug = late.signal.aborted ? "timeout" : "network";
      throw new ServiceError(slug, `${slug}: ${cause}`, { cause });
    } finally {
      cancel?.();
    }
  }
  return { baseUrl, basePath, environment, tokens, send, parts: new Map() };
}
