export type WorkerReport =
  /** The worker has created its app, and waits for the order to listen. */
  | {
    readonly kind: "prepared";
    /** The host that the configuration sets. */
    readonly host: string;
    readonly port: number;
    readonly stopDeadlineMs: number;
  }
  /** The app is ready: `/readyz` no longer responds with 503. */
  | { readonly kind: "ready" }
  | { readonly kind: "listening"; readonly port: number; readonly banner: string }
  /** The worker accepts no more connections, and finishes the open ones. */
  | { readonly kind: "left" };

export type ReportOf<Kind> = Extract<WorkerReport, { readonly kind: Kind }>;

export type WorkerOrder =
  /** The worker must stop, because another one replaces it. */
  | { readonly kind: "retire"; readonly filter: LeftOutSocket }
  /** The worker must remove the filter: all sockets receive connections again. */
  | { readonly kind: "unfilter" };

/** The index of a worker's socket, and the number of sockets of the port. */
export interface LeftOutSocket {
  readonly without: number;
  readonly of: number;
}

/** The first order to a worker: to listen at this address, which all workers share. */
export interface ListenOrder {
  readonly kind: "listen";
  readonly host: string;
  readonly port: number;
}

/** Marks messages of this program, because libraries may use the same channel. */
const envelope = "resource-api";

/** Wraps a message in the envelope that marks the messages of this program. */
export function enveloped(
  message: WorkerReport | ListenOrder | WorkerOrder,
): Record<string, unknown> {
  return { [envelope]: message };
}

/** Returns a worker's report in a message; null for other messages. */
export function reportIn(message: unknown): WorkerReport | null {
  // The cast is safe: the worker runs this program, and only `enveloped` creates the envelope.
  return contentOf(message) as WorkerReport | null;
}

/** Returns the supervisor's order in a message; null for other messages. */
export function orderIn(message: unknown): ListenOrder | WorkerOrder | null {
  // The cast is safe: the supervisor runs this program, and only `enveloped` creates the envelope.
  return contentOf(message) as ListenOrder | WorkerOrder | null;
}

function contentOf(message: unknown): unknown {
  if (typeof message !== "object" || message === null) return null;
  return Object.entries(message).find(([name]) => name === envelope)?.[1] ?? null;
}
