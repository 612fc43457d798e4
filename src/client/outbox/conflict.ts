import type { ServiceError } from "../request/service_error.ts";
import { type Job, type JobRow, newJobRequest, refusedJob, rowTag } from "./job.ts";
import { jsonCopy } from "./new_job.ts";
import { isRefusal, readResponseRow } from "./send_job.ts";
import type { Transport } from "../../api/transport.ts";

/** A conflict: a row has changed since the user saw it and wrote to it, and the write waits. */
export interface JobConflict {
  /** The waiting write. */
  readonly job: Job;
  /** The row as the user saw it before the write; null if unknown. */
  readonly base: JobRow | null;
  /** The fields that the write sets, or null for a delete. */
  readonly mine: JobRow | null;
  /** The row as it is now; null if the user cannot read it. */
  readonly theirs: JobRow | null;
}

/**
 * Resolves a conflict by returning the fields to send. For a delete, any result except null deletes
 * the row. After null, the job counts as dead (refused).
 */
export type OnConflict = (conflict: JobConflict) => JobRow | null | Promise<JobRow | null>;

export interface ConflictOptions {
  readonly transport: Transport;
  readonly signal: AbortSignal;
  readonly onConflict: OnConflict | undefined;
}

/** Returns the job that replaces a refused one: with a new request, or as a dead job. */
export async function jobAfterRefusal(
  job: Job,
  error: ServiceError,
  { transport, signal, onConflict }: ConflictOptions,
): Promise<Job> {
  const { base, body, path, conflicts } = job;
  // The limit of 4 exists for proxies that change ETags, which would cause endless conflicts.
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
    return {
      ...{ ...job, ...newJobRequest(transport.environment), conflicts: conflicts + 1 },
      ...{ body: body && jsonCopy(mine), base: theirs, ifMatch: rowTag(theirs) },
    };
  } catch (cause) {
    return refusedJob(job, { ...error, message: `${cause}` });
  }
}
