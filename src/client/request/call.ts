import { queryText } from "./query_text.ts";
import { answerError } from "./service_error.ts";
import type { Handle } from "../../api/handle.ts";

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
  /** By contract it is what the types of the client say. */
  readonly value: unknown;
  readonly etag: string | null;
}

/** Sends one kind of request, and reads the JSON of the answer. */
export type Call<Result> = (options?: CallOptions, body?: unknown) => Promise<Result>;

/** Makes a call by its method and its place below the path of the resource. */
export type MakeCall = (method: string, place: string) => Call<CallResult>;

/** Makes the calls of a resource, which give the value of the answer with its tag. */
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
    // What the service answers as JSON is never falsy.
    const value = await response.json().catch(() => null);
    if (!value && response.status !== (ifNoneMatch ? 304 : 0)) throw await answerError(response);
    return { value, etag: response.headers.get("etag") };
  };
}

/** A call that gives the value of the answer alone, or the member of it that is named. */
export function valueOf(call: Call<CallResult>, member?: string): Call<unknown> {
  return async (options, body) => {
    const { value } = await call(options, body);
    // By contract an answer of which a member is wanted is an object that has it.
    return member ? (value as Readonly<Record<string, unknown>>)[member] : value;
  };
}
