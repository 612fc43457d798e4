import type { Flat } from "../../api/metrics.ts";
import type { ApiResource } from "../../api/rows.ts";
import type { Transport } from "../../api/transport.ts";
import type { ServiceError } from "../request/service_error.ts";
import type { Job, JobRow, newJobRequest } from "./job.ts";

/** A conflict: a write waits, but its row has changed. `resource` determines the rows' types. */
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

/** Resolves a conflict. Returns the fields to send (any value for a delete), or null to refuse. */
export type OnConflict<Api = unknown> = (
  conflict: JobConflict<Api>,
) => object | null | Promise<object | null>;

export interface ConflictOptions {
  readonly transport: Transport;
  readonly signal: AbortSignal;
  readonly onConflict: OnConflict;
  // These functions are parameters, because modules of `rarely_needed.ts` import no code.
  readonly newJobRequest: typeof newJobRequest;
  readonly isRefusal: (error: unknown) => boolean;
  readonly readRow: (response: Response) => Promise<JobRow | null>;
}

/**
 * Returns the job with the current row's ETag, or a dead job if `onConflict` throws. Returns null
 * if `onConflict` does, or after five conflicts (a proxy that changes ETags causes endless ones).
 */
export async function resolveConflict(
  job: Job,
  error: ServiceError,
  { transport, signal, onConflict, newJobRequest, isRefusal, readRow }: ConflictOptions,
): Promise<Job | null> {
  const { base, body, conflicts, path } = job;
  if (conflicts > 4) return null;
  const theirs = await transport.send({ method: "GET", path, signal }).then(readRow).catch(
    (reason) => {
      if (isRefusal(reason)) return null;
      throw reason;
    },
  );
  const resource = decodeURIComponent(job.resource.slice(transport.basePath.length + 1));
  try {
    const mine = await onConflict({ job, resource, base, mine: body, theirs });
    return mine && {
      ...{
        ...job,
        ...newJobRequest(transport.environment),
        base: theirs,
        conflicts: conflicts + 1,
      },
      // Copies the value as the service will receive it. The page may change its object later.
      body: body && JSON.parse(JSON.stringify(mine)),
      // The cast is safe: only the service sets this member, to a string.
      ifMatch: (theirs?._etag ?? null) as string | null,
    };
  } catch (cause) {
    return { ...job, state: "dead", problem: { ...error, message: `${cause}` } };
  }
}
