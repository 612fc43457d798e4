/** A write of the operator by the dashboard, once it is answered. */
export interface OperatorObservation {
  /** What it is. */
  readonly kind: "operator_write";
  /** The method of the request. */
  readonly method: string;
  /** Below the path of the dashboard, without a query: `/api/notes/7`, `/action/outbox-replay`. */
  readonly path: string;
  /** That of the answer. */
  readonly status: number;
  /** The id of the user that the service has identified; null without one. */
  readonly user: string | null;
}

/** Describes a write of the operator in one line. */
export function describeOperator({ method, path, status, user }: OperatorObservation): string {
  return `${user ?? "the operator"} used the dashboard: ${method} ${path} → ${status}`;
}
