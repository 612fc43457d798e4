import { queryText } from "./query_text.ts";
import { unexpectedAnswer } from "./service_error.ts";
import type { Handle } from "./handle.ts";

/** What a request takes: its signal, its headers, and the parameters of its query. */
export interface CallOptions {
  readonly signal?: AbortSignal | undefined;
  readonly timeoutMs?: number | undefined;
  readonly ifMatch?: string | null | undefined;
  readonly ifNoneMatch?: string | null | undefined;
  readonly idempotencyKey?: string | undefined;
  readonly optimisticId?: string | undefined;
  readonly [parameter: string]: unknown;
}

/** The value of an answer, and its tag. */
export interface CallResult {
  // deno-lint-ignore no-explicit-any -- by contract it is what the types of the client say
  readonly value: any;
  readonly etag: string | null;
}

/** Sends one kind of request, and reads the JSON of the answer. */
export type Call = (options?: CallOptions, body?: unknown) => Promise<CallResult["value"]>;

/**
 * Makes the calls of a resource, each by its method and its place below the path. A call gives a
 * part of the value of the answer, all of it for the empty text, and the value with its tag for null.
 */
export function createCalls(
  { transport, path }: Handle,
): (method: string, place: string, part: string | null) => Call {
  return (method, place, part) => async (options = {}, body) => {
    const { signal, timeoutMs, ifMatch, ifNoneMatch, idempotencyKey, optimisticId, ...query } =
      options;
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
    const unusable = (cause?: unknown) => {
      throw unexpectedAnswer(response, { cause });
    };
    const isJson = /json/.test(`${response.headers.get("content-type")}`);
    const value = response.status === (ifNoneMatch ? 304 : 204)
      ? null
      : isJson
      ? await response.json().catch(unusable)
      : unusable();
    if (part === null) return { value, etag: response.headers.get("etag") };
    return part ? value[part] : value;
  };
}
