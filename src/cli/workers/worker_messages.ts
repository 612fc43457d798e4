/** A report of a worker to its supervisor. */
export type WorkerReport =
  /** The app is created, and the worker waits for the order to listen. */
  | {
    readonly kind: "prepared";
    /** The configured address of the service. */
    readonly host: string;
    readonly port: number;
    /** Why the kernel cannot balance the connections, or null if it can. */
    readonly unbalanced: string | null;
    readonly stopDeadlineMs: number;
  }
  /** The app is ready: `/readyz` is not 503. */
  | { readonly kind: "ready" }
  /** The worker accepts connections at this port. */
  | { readonly kind: "listening"; readonly port: number; readonly banner: string }
  /** The worker accepts no further connections, and finishes those that it has. */
  | { readonly kind: "left" }
  /** The worker knows the client of the connection from this port. */
  | { readonly kind: "noted"; readonly port: number };

export type ReportOf<Kind> = Extract<WorkerReport, { readonly kind: Kind }>;

/** An order of a supervisor to a listening worker. */
export type WorkerOrder =
  /** Stop, because another process has replaced the worker. */
  | {
    readonly kind: "retire";
    /** The index of its socket among those of the port. The others receive all new connections. */
    readonly filter: { readonly without: number; readonly of: number } | null;
  }
  /** Let every socket of the port receive connections again. */
  | { readonly kind: "unfilter" }
  /** Record the client whose bytes come from this port of the supervisor. */
  | { readonly kind: "note"; readonly port: number; readonly client: string };

/** The first order: to listen at an address. */
export interface ListenOrder {
  readonly kind: "listen";
  readonly host: string;
  readonly port: number;
  readonly reusePort: boolean;
  /** The address at which clients reach the service, or null for the worker's own. */
  readonly shown: { readonly host: string; readonly port: number } | null;
}

/** Identifies messages of this program, because libraries send messages of other managers. */
const envelope = "resource-api";

/** Returns a message as it is sent. */
export function enveloped(
  message: WorkerReport | ListenOrder | WorkerOrder,
): Record<string, unknown> {
  return { [envelope]: message };
}

/** Returns the report in a worker's message, or null if it has none. */
export function reportIn(message: unknown): WorkerReport | null {
  // The worker runs this program, and only `enveloped` creates the envelope.
  return contentOf(message) as WorkerReport | null;
}

/** Returns the order in a supervisor's message, or null if it has none. */
export function orderIn(message: unknown): ListenOrder | WorkerOrder | null {
  // The supervisor runs this program, and only `enveloped` creates the envelope.
  return contentOf(message) as ListenOrder | WorkerOrder | null;
}

function contentOf(message: unknown): unknown {
  if (typeof message !== "object" || message === null) return null;
  return Object.entries(message).find(([name]) => name === envelope)?.[1] ?? null;
}
