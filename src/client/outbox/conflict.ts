import type { ServiceError } from "../request/service_error.ts";
import { type Job, type JobRow, refusedJob, renewedJob, rowTag } from "./job.ts";
import { asSent } from "./new_job.ts";
import { isRefusal, rowOf } from "./send_job.ts";
import type { Transport } from "../../api/transport.ts";

/** A write whose row has changed since the user saw it. */
export interface JobConflict {
  /** The write. */
  readonly job: Job;
  /** The row that the user saw, as the service had sent it, or null if it is not known. */
  readonly base: JobRow | null;
  /** The fields that the write sets; null for a delete. */
  readonly mine: JobRow | null;
  /** The current row, or null if the user cannot read it. */
  readonly theirs: JobRow | null;
}

/**
 * Returns the fields to send instead of a write in conflict. For a delete, any result except null
 * deletes the current row. Null turns the write into a dead letter.
 */
export type OnConflict = (conflict: JobConflict) => JobRow | null | Promise<JobRow | null>;

/** The options for resolving a conflict. */
export interface ConflictOptions {
  readonly transport: Transport;
  readonly signal: AbortSignal;
  readonly onConflict: OnConflict | undefined;
}

/** Returns a job instead of a refused job: a new request after a conflict, or a dead letter. */
export async function afterRefusal(
  job: Job,
  error: ServiceError,
  { transport, signal, onConflict }: ConflictOptions,
): Promise<Job> {
  const { base, body, path, conflicts } = job;
  // The limit exists because a proxy that changes tags would cause endless conflicts.
  if (error.status !== 412 || onConflict === undefined || conflicts > 4) {
    return refusedJob(job, error);
  }
  const theirs = await transport.send({ method: "GET", path, signal }).then(rowOf).catch(
    (reason) => {
      if (isRefusal(reason)) return null;
      throw reason;
    },
  );
  try {
    const mine = await onConflict({ job, base, mine: body, theirs });
    if (!mine) return refusedJob(job, error);
    return renewedJob(job, {
      ...{ body: body && asSent(mine), base: theirs, ifMatch: rowTag(theirs) },
      conflicts: conflicts + 1,
    }, transport.environment);
  } catch (cause) {
    return refusedJob(job, { ...error, message: `${cause}` });
  }
}
