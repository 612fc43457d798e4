/**
 * The interface for time, random numbers and the environment.
 *
 * @module
 */
export type { Clock, Cron, Random, Runtime } from "../src/runtime/runtime.ts";
export type { MaybePromise } from "../src/runtime/maybe_promise.ts";
export type { Observation, Observer, PowRefusal } from "../src/runtime/observation.ts";
export type { BillingObservation } from "../src/runtime/observations/billing_observation.ts";
export type { OutboxObservation } from "../src/runtime/observations/outbox_observation.ts";
export type { OperatorObservation } from "../src/runtime/observations/operator_observation.ts";
export type { RequestObservation } from "../src/runtime/observations/request_observation.ts";
export type {
  TablesChanged,
  TablesObservation,
} from "../src/runtime/observations/tables_observation.ts";
export type { SearchObservation } from "../src/runtime/observations/search_observation.ts";
export type {
  AccountEvent,
  AccountObservation,
} from "../src/runtime/observations/account_observation.ts";
