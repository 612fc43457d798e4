import type { AccountObservation } from "./observations/account_observation.ts";
import type { BillingObservation } from "./observations/billing_observation.ts";
import type { OutboxObservation } from "./observations/outbox_observation.ts";
import type { OperatorObservation } from "./observations/operator_observation.ts";
import type { RequestObservation } from "./observations/request_observation.ts";
import type { TablesObservation } from "./observations/tables_observation.ts";
import type { SearchObservation } from "./observations/search_observation.ts";

/** An observation: an event for the operator. An {@link Observer} decides what to show. */
export type Observation =
  | { readonly kind: "notice"; readonly message: string }
  | { readonly kind: "deprecated"; readonly message: string }
  | { readonly kind: "worker_refused"; readonly error: Error }
  | { readonly kind: "worker_started"; readonly worker: number; readonly pid: number }
  | {
    readonly kind: "worker_ended";
    readonly worker: number;
    readonly pid: number;
    /** The exit code of the worker, or the signal that ended it. */
    readonly reason: string;
  }
  | { readonly kind: "worker_kept"; readonly worker: number; readonly reason: string }
  | { readonly kind: "listening"; readonly url: string }
  | {
    readonly kind: "request_failed";
    readonly method: string;
    readonly path: string;
    readonly error: unknown;
    /** Number of refusals of an overloaded service that were not reported since the last report. */
    readonly suppressed?: number;
  }
  | { readonly kind: "answer_broke_off"; readonly path: string; readonly error: unknown }
  | { readonly kind: "response_header_encoded"; readonly name: string }
  | { readonly kind: "listener_failed"; readonly error: unknown; readonly retryInMs: number }
  | { readonly kind: "unhandled_rejection"; readonly error: unknown }
  | { readonly kind: "uncaught_error"; readonly error: unknown }
  | { readonly kind: "value_does_not_fit"; readonly table: string; readonly column: string }
  | {
    readonly kind: "computed_failed";
    readonly resource: string;
    readonly field: string;
    /** Number of failures of this field that were not reported since the last report. */
    readonly suppressed: number;
    readonly error: unknown;
  }
  | {
    readonly kind: "live_mismatch";
    readonly table: string;
    readonly column: string;
    readonly operator: string;
  }
  | { readonly kind: "aggregate_mismatch"; readonly resource: string }
  | { readonly kind: "table_left_out"; readonly table: string; readonly reason: string }
  /** The command line serves no table of this Postgres schema. */
  | { readonly kind: "schema_left_out"; readonly schema: string; readonly reason: string }
  | TablesObservation
  | {
    /** A client of MCP has called a tool. */
    readonly kind: "mcp_call";
    readonly tool: string;
    /** The id of the user, or null for an anonymous caller. */
    readonly user: string | null;
  }
  | { readonly kind: "proof_of_work_refused"; readonly reason: PowRefusal }
  | { readonly kind: "captcha_refused"; readonly provider: string; readonly reason: string }
  | { readonly kind: "captcha_verifier_failed"; readonly provider: string; readonly error: unknown }
  | {
    readonly kind: "idempotency_table_missing";
    readonly database: string;
    readonly error: unknown;
  }
  | { readonly kind: "reader_thread_failed"; readonly database: string; readonly error: unknown }
  | { readonly kind: "database_replaced"; readonly database: string; readonly error: unknown }
  | { readonly kind: "idempotency_store_failed"; readonly error: unknown }
  | { readonly kind: "trust_failed"; readonly error: unknown }
  | { readonly kind: "classify_failed"; readonly error: unknown }
  | { readonly kind: "limits_unshared"; readonly error: unknown }
  | { readonly kind: "store_in_memory"; readonly purpose: string; readonly reason: string }
  | { readonly kind: "draining" }
  | RequestObservation
  | OperatorObservation
  | { readonly kind: "changes_unread"; readonly error: unknown; readonly retryInMs: number }
  | { readonly kind: "live_upkeep_failed"; readonly error: unknown }
  | BillingObservation
  | OutboxObservation
  | AccountObservation
  | SearchObservation
  | { readonly kind: "stream_failed"; readonly resource: string; readonly error: unknown };

/** The reason why a proof of work was refused, for the operator. The client does not see it. */
export type PowRefusal =
  | "absent"
  | "malformed"
  | "forged"
  | "replayed"
  | "expired"
  | "too-easy"
  | "other-request"
  | "unsolved";

/** Receives an observation. Must not throw. */
export type Observer = (observation: Observation) => void;
