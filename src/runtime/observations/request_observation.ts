/** An answered request: one for each, where `observability: { requests: true }` asks for them. */
export interface RequestObservation {
  /** What it is. */
  readonly kind: "request";
  /** As it was sent, so that a client chooses it. */
  readonly method: string;
  /** The configured route, as `/api/notes/:id`; empty where there is none. */
  readonly route: string;
  /** Without the query, whose filters have values of rows. */
  readonly path: string;
  /** That of the answer. */
  readonly status: number;
  /** From the request to the head of its answer. */
  readonly durationMs: number;
  /** The `x-request-id` of the answer, else that of the request; null without one. */
  readonly requestId: string | null;
}

/** Describes an answered request in one line. */
export function describeRequest(one: RequestObservation): string {
  const { method, path, status, durationMs, requestId } = one;
  const id = requestId === null ? "" : `, request ${requestId}`;
  return `${method} ${path} → ${status} in ${durationMs.toFixed(1)} ms${id}`;
}
