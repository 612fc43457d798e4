import type { ProblemBody } from "../../protocol/problem_codes.ts";
import type { RequiredCaptcha, ServiceErrorSlug } from "../request/service_error.ts";
import type { ClientEnvironment } from "../../api/client_environment.ts";

/** A row, or a part of one. */
export type JobRow = Readonly<Record<string, unknown>>;

/** A write that waits for the service, as it is stored. */
export interface Job {
  /** Id of the write, also its `Service-Optimistic-Id`. */
  readonly id: string;
  /** Position among all jobs; `Infinity` until the job is stored. */
  readonly order: number;
  /** Idempotency key, which stays the same when the same request is sent again. */
  readonly idempotencyKey: string;
  /** The operation on the row. */
  readonly kind: "create" | "update" | "replace" | "delete";
  /** Path of the resource: `/api/posts`. */
  readonly resource: string;
  /** Path of the row: `/api/posts/7`; the path of the resource until the row exists. */
  readonly path: string;
  /** Id of the job that creates the row, possibly of this job; null if the row exists already. */
  readonly of: string | null;
  /** Body of the request; null for a delete. */
  readonly body: JobRow | null;
  /** Tag of the row that the user saw; null if no tag is known. */
  readonly ifMatch: string | null;
  /** The row that the user saw, without any waiting write; null if it is not known. */
  readonly base: JobRow | null;
  /** Time at which the idempotency key was created, in milliseconds since 1970. */
  readonly createdAt: number;
  /**
   * Idempotency key of the earlier request whose effect the user saw when this job was added. Its
   * resulting tag replaces `ifMatch`. Null without such a request, and after the replacement.
   */
  readonly after: string | null;
  /** Number of conflicts: how often the row had changed since the user saw it. */
  readonly conflicts: number;
  /** Number of times the job was sent with its key, including attempts with an unknown outcome. */
  readonly attempts: number;
  /**
   * A dead job was refused, and stays stored until it is revived or discarded. Sent and discarded
   * jobs are removed.
   */
  readonly state: "waiting" | "dead" | "sent" | "discarded";
  /** Reason for which the job was refused or discarded. */
  readonly problem: JobProblem | null;
}

/** The storable facts of a `ServiceError`. */
export interface JobProblem {
  /** The slug of the error. */
  readonly slug: ServiceErrorSlug;
  /** The message of the error. */
  readonly message: string;
  /** Status of the response; 0 if there was none. */
  readonly status: number;
  /** Body of the response; null if there was none. */
  readonly problem: ProblemBody | null;
  /** The CAPTCHA that has to be solved; null for every other error. */
  readonly captcha: RequiredCaptcha | null;
}

/** A job before it is stored. The storage assigns its position. */
export type NewJob = Omit<Job, "order">;

/**
 * Stores jobs between two visits of a page. Operations take effect, and resolve, in the order in
 * which they are called.
 */
export interface JobStorage {
  /** True if other tabs or processes use the same jobs. */
  readonly isShared: boolean;
  /** Returns all jobs in the order of their positions. */
  all(): Promise<readonly Job[]>;
  /** Adds a job after all others and returns its position. */
  add(job: NewJob): Promise<number>;
  /**
   * Replaces the job at a position by the result of `change` and returns it. Returns undefined if
   * there is no such job or `change` returns undefined. No other operation may run in between.
   */
  update(order: number, change: (stored: Job) => Job | undefined): Promise<Job | undefined>;
  /** Removes the job at a position. */
  remove(order: number): Promise<unknown>;
}

/** Returns the job after it was refused or could not be stored. */
export function refusedJob(job: Job, error: JobProblem, state: Job["state"] = "dead"): Job {
  // A spread does not copy the message of an Error.
  return { ...job, state, problem: { ...error, message: error.message } };
}

/** Returns the job with another request, under a new idempotency key. */
export function renewedJob(
  job: Job,
  changes: Partial<Job>,
  { randomId, now }: ClientEnvironment,
): Job {
  return {
    ...job,
    after: null,
    idempotencyKey: randomId(),
    createdAt: now(),
    attempts: 0,
    state: "waiting",
    problem: null,
    ...changes,
  };
}

/**
 * Returns a dead job for another attempt, based on the current row as lists show it or the service
 * reported it. If the refused request may have been carried out, the job keeps its idempotency key,
 * so that the service recognizes it.
 */
export function revivedJob(
  job: Job,
  seen: JobRow | null,
  body: JobRow | null,
  environment: ClientEnvironment,
): Job {
  const { base, ifMatch, idempotencyKey, attempts, problem } = job;
  const { status, details } = problem?.problem ?? {};
  // The service stores these refusals under the key. After other refusals the key is free again, or
  // was already used. A 400 or 404 may also come from a process that has not looked up the key.
  const isAnswered = (attempts === 1 ? /40[049]|4[12]2/ : /409|4[12]2/).test(`${status}`) &&
    // Undefined is tested as "undefined".
    !/^(idem|query)/.test(problem?.slug as string);
  const current = rowTag(seen ?? { _etag: details?.currentETag });
  return renewedJob(
    job,
    isAnswered
      ? { body, base: seen ?? base, ifMatch: current ?? ifMatch, conflicts: 0 }
      : { body, idempotencyKey, attempts },
    environment,
  );
}

/** Returns the lane of a job: row path or creating job. Jobs of a lane are sent in sequence. */
export function laneOf(
  { of, path }: Job,
  created: ReadonlyMap<string | null, { readonly path: string }>,
): string {
  return created.get(of)?.path ?? of ?? path;
}

/** Returns the tag of a row, or null if the row has none. */
export function rowTag(row: JobRow | null): string | null {
  return typeof row?._etag === "string" ? row._etag : null;
}

/** Returns the key of the row at a path, with its values as strings: a list for a composite key. */
export function rowKey(path: string): string | readonly string[] {
  const parts = path.slice(path.lastIndexOf("/") + 1).split(",").map(decodeURIComponent);
  return parts.length > 1 ? parts : parts[0]!; // A string has at least one part.
}
