import { errorOfResponse, ServiceError } from "../request/service_error.ts";
import { type Job, type JobRow, newJobRequest, refusedJob, rowTag } from "./job.ts";
import type { Flat } from "../../api/metrics.ts";
import type { ApiResource } from "../../api/rows.ts";
import type { Bearer, Transport } from "../../api/transport.ts";
import { jsonCopy } from "./new_job.ts";

/** Returns the job with its row's path, and the row of the response (null for a delete). */
export async function sendJob(
  job: Job,
  transport: Transport,
  signal: AbortSignal,
  token?: Bearer,
): Promise<readonly [Job, JobRow | null]> {
  const { path, ifMatch } = job;
  const response = await transport.send({
    ...{ method: methods[job.kind], path, signal },
    body: job.body ?? undefined,
    headers: {
      "idempotency-key": job.idempotencyKey,
      "service-optimistic-id": job.id,
      "if-match": ifMatch,
      // The client may have another user's token by now, so it sends the job's token.
      ...(token && { authorization: token.value && `Bearer ${token.value}` }),
    },
  });
  if (job.kind === "delete" && await response.text() !== "{}") {
    throw await errorOfResponse(response);
  }
  // A proxy can change the path's prefix, so only the last segment of `Location` is used.
  const segment = response.headers.get("location")?.match(/\/[^/]*$/)?.[0] ?? "";
  return [
    { ...job, path: path + segment, state: "sent" },
    job.kind === "delete" ? null : await readResponseRow(response),
  ];
}

async function readResponseRow(response: Response): Promise<JobRow | null> {
  const { _optimisticId, ...row } = await response.json();
  const tag = response.headers.get("etag");
  return tag === null ? row : { ...row, _etag: tag };
}

/** Without a problem document, returns false: the service may have executed the write. */
export function isRefusal(error: unknown): error is ServiceError {
  return error instanceof ServiceError && (/expired|discarded/.test(error.slug) ||
    // The slug `idempotency-in-flight` is no refusal: an earlier attempt is still running.
    error.problem !== null && error.status < 500 && !error.slug.endsWith("flight") &&
      ![401, 408, 429].includes(error.status));
}

const methods = { create: "POST", update: "PATCH", replace: "PUT", delete: "DELETE" } as const;

/**
 * A conflict: a row has changed since the user saw it, and a write to the row is waiting. In a
 * typed client, `resource` determines the types of the rows.
 */
export type JobConflict<Api = unknown> = [keyof Api] extends [never] ? ConflictOf<string, JobRow>
  : {
    [Path in keyof Api & string]: Api[Path] extends ApiResource
      ? ConflictOf<Path, Flat<Api[Path]["row"]>, Flat<Api[Path]["update"]>>
      : never;
  }[keyof Api & string];

/** A conflict about a row of one resource. */
export interface ConflictOf<Path, Row, Patch = Row> {
  /** The waiting write. */
  readonly job: Job;
  /** The name of the resource in the client, for example `posts`. */
  readonly resource: Path;
  /** The row as the user saw it before the write; null if unknown. */
  readonly base: Partial<Row> | null;
  /** The fields that the write sets, or null for a delete. */
  readonly mine: Patch | null;
  /** The current row; null if the user cannot read it. */
  readonly theirs: Row | null;
}

/**
 * Resolves a conflict: returns the fields to send, or null to refuse the write (it becomes dead).
 * For a delete, any other result deletes the row.
 */
export type OnConflict<Api = unknown> = (
  conflict: JobConflict<Api>,
) => object | null | Promise<object | null>;

export interface ConflictOptions {
  readonly transport: Transport;
  readonly signal: AbortSignal;
  readonly onConflict: OnConflict | undefined;
}

export async function jobAfterRefusal(
  job: Job,
  error: ServiceError,
  { transport, signal, onConflict }: ConflictOptions,
): Promise<Job> {
  const { base, body, path, conflicts } = job;
  // Resolves at most five conflicts: a proxy that changes ETags would cause conflicts without end.
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
    const resource = decodeURIComponent(job.resource.slice(transport.basePath.length + 1));
    const mine = await onConflict({ job, resource, base, mine: body, theirs });
    if (!mine) return refusedJob(job, error);
    return {
      ...{ ...job, ...newJobRequest(transport.environment), conflicts: conflicts + 1 },
      // The cast is safe: all keys of a JSON object are strings.
      ...{ body: body && jsonCopy(mine) as JobRow, base: theirs, ifMatch: rowTag(theirs) },
    };
  } catch (cause) {
    return refusedJob(job, { ...error, message: `${cause}` });
  }
}
