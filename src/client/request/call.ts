import { queryText } from "./query_text.ts";
import { answerError } from "./service_error.ts";
import type { Handle } from "../../api/handle.ts";

/** The options of a request: its signal, its headers, and its query parameters. */
export interface CallOptions {
  readonly signal?: AbortSignal | undefined;
  readonly timeoutMs?: number | undefined;
  readonly ifMatch?: string | null | undefined;
  readonly ifNoneMatch?: string | null | undefined;
  readonly idempotencyKey?: string | undefined;
  readonly optimisticId?: string | undefined;
  readonly [parameter: string]: unknown;
}

/** The value of a response, and its tag. */
export interface CallResult {
  /** By contract the value has the type that the client declares. */
  readonly value: unknown;
  readonly etag: string | null;
}

/** Sends one kind of request and reads the JSON of the response. */
export type Call<Result> = (options?: CallOptions, body?: unknown) => Promise<Result>;

/** Returns the call for a method and a path below the path of the resource. */
export type MakeCall = (method: string, place: string) => Call<CallResult>;

/** Returns the calls of a resource, which return the value of the response with its tag. */
export function createCalls({ transport, path }: Handle): MakeCall {
  return (method, place) =>
  async (
    { signal, timeoutMs, ifMatch, ifNoneMatch, idempotencyKey, optimisticId, ...query } = {},
    body,
  ) => {
    const response = await transport.send({
      method,
      path: path + place + queryText(query),
      headers: {
        "if-match": ifMatch,
        "if-none-match": ifNoneMatch,
        "idempotency-key": idempotencyKey,
        "service-optimistic-id": optimisticId,
      },
      body,
      signal,
      timeoutMs,
    });
    // A JSON value of the service is never falsy.
    const value = await response.json().catch(() => null);
    if (!value && response.status !== (ifNoneMatch ? 304 : 0)) throw await answerError(response);
    return { value, etag: response.headers.get("etag") };
  };
}

/** Returns a call that returns only the value of the response, or the named member of the value. */
export function valueOf(call: Call<CallResult>, member?: string): Call<unknown> {
  return async (options, body) => {
    const { value } = await call(options, body);
    // By contract the response is an object with the named member.
    return member ? (value as Readonly<Record<string, unknown>>)[member] : value;
  };
}
