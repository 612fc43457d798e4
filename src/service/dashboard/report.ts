import type { User } from "../../auth/user.ts";
import type { MaybePromise } from "../../runtime/maybe_promise.ts";

/** A report of the dashboard, or, by POST, an action of it. */
export interface Report {
  /** The last segment of its path: `/report/streams`, `/action/explain`. */
  readonly name: string;
  /** GET for a report, POST for an action. */
  readonly method: "GET" | "POST";
  /** True if a read-only dashboard refuses it. */
  readonly writes?: true;
  /** Returns what is sent as JSON. Throws a Problem for a request that is wrong. */
  answer(request: ReportRequest): MaybePromise<unknown>;
}

/** A request for a report. */
export interface ReportRequest {
  readonly query: URLSearchParams;
  /** The JSON of an action; null for a report. */
  readonly body: unknown;
  /** The operator, where the service knows one. */
  readonly user: User | null;
}
