import type { ServiceError } from "../request/service_error.ts";
import { type Job, type JobRow, refusedJob, renewedJob, rowTag } from "./job.ts";
import { jsonCopy } from "./new_job.ts";
import { isRefusal, readResponseRow } from "./send_job.ts";
import type { Transport } from "../../api/transport.ts";

/** A conflict: the row of a waiting write has changed since the user saw the row. */
export interface JobConflict {
  /** The waiting write in conflict. */
  readonly job: Job;
  /** The row as the user saw it, or null if that row is not known. */
  readonly base: JobRow | null;
  /** The fields that the write sets, or null for a delete. */
  readonly mine: JobRow | null;
  /** The current row, or null if the user cannot read the row. */
  readonly theirs: JobRow | null;
}

/**
 * Resolves a conflict: returns the fields to send. For a delete, any result except null deletes the
 * row. Null makes the write a dead letter.
 */
export type OnConflict = (conflict: JobConflict) => JobRow | null | Promise<JobRow | null>;

export interface ConflictOptions {
  readonly transport: Transport;
  readonly signal: AbortSignal;
  readonly onConflict: OnConflict | undefined;
}

/** Returns the job that replaces a refused job: a new request, or a dead letter. */
export async function jobAfterRefusal(
  job: Job,
  error: ServiceError,
  { transport, signal, onConflict }: ConflictOptions,
): Promise<Job> {
  const { base, body, path, conflicts } = job;
  // Without a limit, a proxy that changes tags would cause endless conflicts.
  if (error.status !== 412 || onConflict === undefined || conflicts > 4) {
    return refusedJob(job, error);
  }
  const theirs = await transport.send({ method: "GET", path, signal }).then(readResponseRow).catch(
    (reason) => {
      if (isRefusal(reason)) return null;
      throw reason;
    },
  );
  try {
    const mine = await onConflict({ job, base, mine: body, theirs });
    if (!mine) return refusedJob(job, error);
    return renewedJob(job, {
      ...{ body: body && jsonCopy(mine), base: theirs, ifMatch: rowTag(theirs) },
      conflicts: conflicts + 1,
    }, transport.environment);
  } catch (cause) {
    return refusedJob(job, { ...error, message: `${cause}` });
  }
}
