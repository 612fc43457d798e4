/** A write of the operator through the dashboard, reported after its response. */
export interface OperatorObservation {
  /** The kind of the observation. */
  readonly kind: "operator_write";
  /** The method of the request. */
  readonly method: string;
  /** The path below the dashboard, without a query: `/api/notes/7`, `/action/outbox-replay`. */
  readonly path: string;
  /** The status of the response. */
  readonly status: number;
  /** The id of the user that the service has identified, or null for an anonymous operator. */
  readonly user: string | null;
  /** The id of the account or API key that an action has changed. */
  readonly target?: string | undefined;
}

export function describeOperatorObservation(
  { method, path, status, user, target }: OperatorObservation,
): string {
  const changed = target === undefined ? "" : ` of ${JSON.stringify(target)}`;
  return `${user ?? "the operator"} used the dashboard: ${method} ${path}${changed} → ${status}`;
}
