import type { Job, JobRow, newJobRequest } from "./job.ts";

/** `seen` is the row in live lists; null if none has it. `fresh` is the data of a new request. */
interface Revival {
  readonly seen: JobRow | null;
  readonly body: JobRow | null;
  readonly fresh: ReturnType<typeof newJobRequest>;
}

/**
 * Returns the changes that make a dead job wait again, with a new request for the current row. If
 * the service may have executed the refused request, its idempotency key stays.
 */
export function reviveDeadJob(job: Job, { seen, body, fresh }: Revival): Partial<Job> {
  const { base, ifMatch, idempotencyKey, attempts, problem } = job;
  const { status, details } = problem?.problem ?? {};
  // After these statuses, the service has stored the response under the idempotency key, so the job
  // needs a new key. After other statuses, the key is unused or belongs to another request. A 400
  // or 404 counts only at the first attempt: later, the service may not have looked up the key.
  const isAnswered = (attempts === 1 ? /40[049]|4[12]2/ : /409|4[12]2/).test(`${status}`) &&
    // If `slug` is undefined, `test` gets "undefined", which does not match.
    !/^(idem|query)/.test(problem?.slug as string);
  if (!isAnswered) return { ...fresh, body, idempotencyKey, attempts };
  // The cast is safe: only the service sets these members, to strings.
  const current = (seen ? seen._etag : details?.currentETag) as string | undefined;
  return { ...fresh, body, base: seen ?? base, ifMatch: current ?? ifMatch, conflicts: 0 };
}
