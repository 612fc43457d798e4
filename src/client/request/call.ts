import { queryString } from "./query_string.ts";
import { errorOfResponse } from "./service_error.ts";
import type { Handle } from "../../api/handle.ts";

export interface CallOptions {
  readonly signal?: AbortSignal | undefined;
  readonly timeoutMs?: number | undefined;
  readonly ifMatch?: string | null | undefined;
  readonly ifNoneMatch?: string | null | undefined;
  readonly idempotencyKey?: string | undefined;
  readonly optimisticId?: string | undefined;
  readonly [parameter: string]: unknown;
}

export interface CallResult {
  /** The JSON value of the response. The client does not check the value against its type. */
  readonly value: unknown;
  readonly etag: string | null;
}

export type Call<Result> = (options?: CallOptions, body?: unknown) => Promise<Result>;

/** Creates a function that sends a request and returns the JSON's `member` (all for `""`). */
export interface CallFactory {
  (method: string, place: string): Call<CallResult>;
  (method: string, place: string, member: string | undefined): Call<unknown>;
}

export function createCalls({ transport, path }: Handle): CallFactory {
  // The cast is safe: `member` determines the result.
  return ((method: string, place: string, member?: string) =>
  async (
    { signal, timeoutMs, ifMatch, ifNoneMatch, idempotencyKey, optimisticId, ...query }:
      CallOptions = {},
    body?: unknown,
  ) => {
    const parameters = queryString(query);
    // Proxies reject long URLs, so a long query is sent in a body.
    const isLong = method + place === "GET" && parameters.length > maxQueryLength;
    const response = await transport.send({
      method: isLong ? "POST" : method,
      path: path + place + (isLong ? "/query" : parameters),
      headers: {
        "if-match": ifMatch,
        "if-none-match": ifNoneMatch,
        "idempotency-key": idempotencyKey,
        "service-optimistic-id": optimisticId,
      },
      body: isLong ? Object.fromEntries(new URLSearchParams(parameters)) : body,
      signal,
      timeoutMs,
    });
    // Null means no body or invalid JSON. The service never returns falsy JSON.
    const value = await response.json().catch(() => null);
    if (!value && response.status !== (ifNoneMatch ? 304 : 0)) {
      throw await errorOfResponse(response);
    }
    return member === undefined
      ? { value, etag: response.headers.get("etag") }
      : member
      ? value[member]
      : value;
  }) as CallFactory;
}

/** The maximum length of a query string in a URL. Most proxies allow 8 kB. */
const maxQueryLength = 6_000;
