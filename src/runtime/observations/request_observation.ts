/** A request with its response. Reported if `observability: { requests: true }` is set. */
export interface RequestObservation {
  /** The kind of the observation. */
  readonly kind: "request";
  /** The method as the client has sent it. It can be any string. */
  readonly method: string;
  /** The configured route, such as `/api/notes/:id`. Empty if no route matched. */
  readonly route: string;
  /** The path without the query, which is omitted because filters contain values of rows. */
  readonly path: string;
  /** The status of the response. */
  readonly status: number;
  /** The time from the request to the head of its response, in milliseconds. */
  readonly durationMs: number;
  /** The `x-request-id` of the response, or else of the request. Null if both lack it. */
  readonly requestId: string | null;
}

export function describeRequestObservation(one: RequestObservation): string {
  const { method, path, status, durationMs, requestId } = one;
  const id = requestId === null ? "" : `, request ${requestId}`;
  return `${method} ${path} → ${status} in ${durationMs.toFixed(1)} ms${id}`;
}
