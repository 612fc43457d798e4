import { Problem } from "../problem/problem.ts";

/** The possible effect of a failed operation of the key-value store. */
export type StoreErrorKind =
  /** No effect: the store is closed, unreachable, or was busy until the deadline. */
  | "unavailable"
  /** The write may have been carried out. */
  | "unknown-outcome";

/** An operation of the key-value store has failed. `cause` is the original error. */
export class StoreError extends Error {
  /** The possible effect of the operation. */
  readonly kind: StoreErrorKind;

  /** `cause` is for the operator. Clients do not see it. */
  constructor(kind: StoreErrorKind, cause: unknown) {
    super(`The key-value store answered: ${kind}`, { cause });
    this.name = "StoreError";
    this.kind = kind;
  }
}

export function ignoreStoreError(error: unknown): void {
  if (!(error instanceof StoreError)) throw error;
}

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
