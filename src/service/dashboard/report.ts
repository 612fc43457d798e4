import type { MaybePromise } from "../../runtime/maybe_promise.ts";

/** A report of the dashboard (GET), or an action of the operator (POST). */
export interface Report {
  /** The end of the path, for example `/report/streams` or `/action/rights`. */
  readonly name: string;
  readonly method: "GET" | "POST";
  /** True if the action changes data, so a read-only dashboard refuses it. */
  readonly writes?: true;
  /** Returns the data of the response. Throws a Problem for an invalid request. */
  answer(request: ReportRequest): MaybePromise<unknown>;
}

export interface ReportRequest {
  readonly query: URLSearchParams;
  /** The JSON body of an action, or null for a report. */
  readonly body: unknown;
}
