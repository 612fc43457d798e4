/**
 * The interface for time, random numbers and the environment, and the observer of the console.
 *
 * @module
 */
export { consoleObserver, type ConsoleObserverOptions } from "../src/runtime/console_observer.ts";
export type { Clock, Cron, Random, Runtime } from "../src/runtime/runtime.ts";
export type { MaybePromise } from "../src/runtime/maybe_promise.ts";
export type {
  Observation,
  ObservationFacts,
  Observer,
  PowRefusal,
} from "../src/runtime/runtime.ts";
export type { AccountEvent, AccountFacts } from "../src/runtime/observations/account_facts.ts";
export type { OperatorObservation } from "../src/runtime/observations/operator_observation.ts";
export type { RequestObservation } from "../src/runtime/observations/request_observation.ts";
export type { TablesChanged } from "../src/runtime/observations/tables_changed.ts";
