import { Problem } from "../problem/problem.ts";

/**
 * The kind of an error of the key-value store: what is known about an operation that it did not
 * confirm.
 */
export type StoreErrorKind =
  /** It was not done: the store is busy past the deadline, closed, or cannot be reached. */
  | "unavailable"
  /** A write that may have been done and may not. */
  | "unknown-outcome";

/** The error of a key-value store that failed. The original error is the `cause`. */
export class StoreError extends Error {
  /** What is known about the operation. */
  readonly kind: StoreErrorKind;

  /** `cause` is for the observer. */
  constructor(kind: StoreErrorKind, cause: unknown) {
    super(`The key-value store answered: ${kind}`, { cause });
    this.name = "StoreError";
    this.kind = kind;
  }
}

/**
 * The Problem that the client receives for an error of the key-value store; any other value is
 * returned as it is.
 */
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
