export type WorkerReport =
  /** The worker has created the app, and waits for the order to listen. */
  | {
    readonly kind: "prepared";
    /** The host at which the configuration wants the service to listen. */
    readonly host: string;
    readonly port: number;
    readonly stopDeadlineMs: number;
  }
  /** The app is ready: `/readyz` no longer responds with 503. */
  | { readonly kind: "ready" }
  /** The worker accepts connections at this port. */
  | { readonly kind: "listening"; readonly port: number; readonly banner: string }
  /** The worker accepts no further connections, and finishes its open connections. */
  | { readonly kind: "left" };

export type ReportOf<Kind> = Extract<WorkerReport, { readonly kind: Kind }>;

/** An order of a supervisor to a listening worker. */
export type WorkerOrder =
  /** The worker must stop, because another worker has replaced it. */
  | {
    readonly kind: "retire";
    /** The index of the worker's socket. All other sockets of the port receive new connections. */
    readonly filter: { readonly without: number; readonly of: number };
  }
  /** The worker must remove the filter, so that all sockets of the port receive connections. */
  | { readonly kind: "unfilter" };

/** The first order to a worker: listen at this address, which workers share. */
export interface ListenOrder {
  readonly kind: "listen";
  readonly host: string;
  readonly port: number;
}

/** Marks the messages of this program. Libraries may send other messages on the same channel. */
const envelope = "resource-api";

/** Wraps a message in the envelope that marks the messages of this program. */
export function enveloped(
  message: WorkerReport | ListenOrder | WorkerOrder,
): Record<string, unknown> {
  return { [envelope]: message };
}

/** Returns the report in a message of a worker, or null if the message contains none. */
export function reportIn(message: unknown): WorkerReport | null {
  // The cast is safe: the worker runs this program, and only `enveloped` creates the envelope.
  return contentOf(message) as WorkerReport | null;
}

/** Returns the order in a message of the supervisor, or null if the message contains none. */
export function orderIn(message: unknown): ListenOrder | WorkerOrder | null {
  // The cast is safe: the supervisor runs this program, and only `enveloped` creates the envelope.
  return contentOf(message) as ListenOrder | WorkerOrder | null;
}

function contentOf(message: unknown): unknown {
  if (typeof message !== "object" || message === null) return null;
  return Object.entries(message).find(([name]) => name === envelope)?.[1] ?? null;
}
