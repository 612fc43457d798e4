import { Problem } from "../../problem/problem.ts";

/**
 * Another request has changed which rows a write is about since they were read: it begins again. In
 * `cause` is what the database said, if it did.
 */
export class RowsChanged extends Problem {
  /** `action` completes "Cannot …". */
  constructor(action: string, cause?: unknown) {
    super("conflict", `Cannot ${action}: other writes kept getting in the way`, { cause });
  }
}

const maxTries = 3;

/** Runs work again where it throws {@link RowsChanged}; the last time `isLast` is true. */
export async function currentRows<Result>(
  work: (isLast: boolean) => Promise<Result>,
): Promise<Result> {
  for (let attempt = 1;; attempt++) {
    try {
      return await work(attempt === maxTries);
    } catch (error) {
      if (attempt === maxTries || !(error instanceof RowsChanged)) throw error;
    }
  }
}
