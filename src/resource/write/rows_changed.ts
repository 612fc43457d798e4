import { Problem } from "../../problem/problem.ts";

/**
 * The problem of a write whose rows another request has changed since they were read. The service
 * then starts the write again. `cause` is the database's error, if there is one.
 */
export class RowsChanged extends Problem {
  /** Creates the problem. `action` completes "Cannot …". */
  constructor(action: string, cause?: unknown) {
    super("conflict", `Cannot ${action}: other writes kept getting in the way`, { cause });
  }
}

const maxTries = 3;

/** Retries work that throws {@link RowsChanged}. In the last attempt `isLast` is true. */
export async function retryIfRowsChanged<Result>(
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
