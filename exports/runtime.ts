/**
 * The seam for time, randomness and the environment.
 *
 * @module
 */
export type { Clock, Random, Runtime } from "../src/runtime/runtime.ts";
export type { MaybePromise } from "../src/runtime/maybe_promise.ts";
export type {
  AccountEvent,
  Observation,
  Observer,
  PowRefusal,
} from "../src/runtime/observation.ts";
