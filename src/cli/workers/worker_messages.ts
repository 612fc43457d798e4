/** What a worker reports to its supervisor. */
export type WorkerReport =
  /** The app is there; the worker waits for the order to listen. */
  | {
    readonly kind: "prepared";
    /** Where its options say that the service listens. */
    readonly host: string;
    readonly port: number;
    /** Why the kernel cannot balance the connections; null if it can. */
    readonly unbalanced: string | null;
    readonly stopDeadlineMs: number;
  }
  /** Its app can answer: `/readyz` is not 503. */
  | { readonly kind: "ready" }
  /** It accepts connections at this port. */
  | { readonly kind: "listening"; readonly port: number; readonly banner: string }
  /** It accepts no connections any more, and finishes what it has. */
  | { readonly kind: "left" }
  /** It knows the client of the connection from this port. */
  | { readonly kind: "noted"; readonly port: number };

/** The report of this kind. */
export type ReportOf<Kind> = Extract<WorkerReport, { readonly kind: Kind }>;

/** What a supervisor orders a worker to do that listens. */
export type WorkerOrder =
  /** To stop, since another process has taken its place. */
  | {
    readonly kind: "retire";
    /** The place of its socket among those of the port, which then get all new connections. */
    readonly filter: { readonly without: number; readonly of: number } | null;
  }
  /** To let every socket of the port have connections again. */
  | { readonly kind: "unfilter" }
  /** To note the client whose bytes come from this port of the supervisor. */
  | { readonly kind: "note"; readonly port: number; readonly client: string };

/** The first order: to listen at an address. */
export interface ListenOrder {
  readonly kind: "listen";
  readonly host: string;
  readonly port: number;
  readonly reusePort: boolean;
  /** Where clients reach it; null for its own address. */
  readonly shown: { readonly host: string; readonly port: number } | null;
}

/** Other messages of a process are not for us: some libraries send those of other managers. */
const envelope = "resource-api";

/** A message as it is sent. */
export function enveloped(
  message: WorkerReport | ListenOrder | WorkerOrder,
): Record<string, unknown> {
  return { [envelope]: message };
}

/** The report in what a worker sent; null if there is none. */
export function reportIn(message: unknown): WorkerReport | null {
  // Workers are of this program, and only `enveloped` makes the envelope.
  return contentOf(message) as WorkerReport | null;
}

/** The order in what a supervisor sent; null if there is none. */
export function orderIn(message: unknown): ListenOrder | WorkerOrder | null {
  // As above.
  return contentOf(message) as ListenOrder | WorkerOrder | null;
}

function contentOf(message: unknown): unknown {
  if (typeof message !== "object" || message === null) return null;
  return Object.entries(message).find(([name]) => name === envelope)?.[1] ?? null;
}
