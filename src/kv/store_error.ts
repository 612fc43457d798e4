import { Problem } from "../problem/problem.ts";

/** The kind of an error of the key-value store, by the possible effect of the operation. */
export type StoreErrorKind =
  /** The operation had no effect: the store is closed, unreachable, or busy past the deadline. */
  | "unavailable"
  /** The write may have been carried out. */
  | "unknown-outcome";

/** The error of a failed key-value store. The original error is the `cause`. */
export class StoreError extends Error {
  /** The kind of the error. */
  readonly kind: StoreErrorKind;

  /** The operator sees `cause`, but the client does not. */
  constructor(kind: StoreErrorKind, cause: unknown) {
    super(`The key-value store answered: ${kind}`, { cause });
    this.name = "StoreError";
    this.kind = kind;
  }
}

/** Returns the client's Problem for an error of the store. Returns any other value unchanged. */
export function storeProblem(error: unknown): unknown {
  if (!(error instanceof StoreError)) return error;
  return new Problem("store-unavailable", details[error.kind], {
    cause: error,
    headers: { "retry-after": "1" },
  });
}

const details: Readonly<Record<StoreErrorKind, string>> = {
  "unavailable": "The key-value store is not available",
  "unknown-outcome": "The key-value store did not confirm a write: it may have been done",
};
