import type { ProblemBody } from "../../protocol/problem_codes.ts";
import {
  type RequiredCaptcha,
  ServiceError,
  type ServiceErrorSlug,
} from "../request/service_error.ts";
import type { RequestEnvironment } from "../../api/client_environment.ts";

/** A row, or some fields of a row. */
export type JobRow = Readonly<Record<string, unknown>>;

/** A write that waits to be sent, in its stored form. */
export interface Job {
  /** The id of the write, sent as the header `Service-Optimistic-Id`. */
  readonly id: string;
  /** The position in the order of all jobs. `Infinity` until the job is stored. */
  readonly order: number;
  /** The idempotency key, which all attempts at the request have in common. */
  readonly idempotencyKey: string;
  /** The effect of the write on the row. */
  readonly kind: "create" | "update" | "replace" | "delete";
  /** The path of the resource, for example `/api/posts`. */
  readonly resource: string;
  /** The path of the row, for example `/api/posts/7`, or of the resource for a new row. */
  readonly path: string;
  /** The id of the job that creates the row (perhaps this job); null for an existing row. */
  readonly of: string | null;
  /** The body of the request, or null for a delete. */
  readonly body: JobRow | null;
  /** The ETag of the row as the user saw it, or null if no ETag is known. */
  readonly ifMatch: string | null;
  /** The row as the user saw it, without the effects of waiting writes. Null if unknown. */
  readonly base: JobRow | null;
  /** Time at which the idempotency key was created, in milliseconds since 1970. */
  readonly createdAt: number;
  /**
   * The idempotency key of the request to the same row for which this job waits, or null. When that
   * request has been sent, the row's new ETag becomes `ifMatch`, and `after` becomes null.
   */
  readonly after: string | null;
  /** How often `onConflict` has resolved a conflict of this job. */
  readonly conflicts: number;
  /** How often the request was sent with this idempotency key, with or without a response. */
  readonly attempts: number;
  /** The state. A refused job is `dead`, and stays stored until it is sent again or discarded. */
  readonly state: "waiting" | "dead" | "sent" | "discarded";
  /** Why the job was refused or discarded; null for any other job. */
  readonly problem: JobProblem | null;
}

/** The members of a `ServiceError` that can be stored. */
export interface JobProblem {
  /** The slug of the error, which says what failed. */
  readonly slug: ServiceErrorSlug;
  /** The message of the error. */
  readonly message: string;
  /** The HTTP status of the response, or 0 if there was no response. */
  readonly status: number;
  /** The problem document in the response body, or null if there was none. */
  readonly problem: ProblemBody | null;
  /** The CAPTCHA that the user must solve, or null. */
  readonly captcha: RequiredCaptcha | null;
}

/** A job that is not stored yet. The storage assigns its position. */
export type NewJob = Omit<Job, "order">;

/** Stores the jobs of an outbox. Operations take effect in the order of the calls. */
export interface JobStorage {
  /** True if other tabs or processes read and write the same stored jobs. */
  readonly isShared: boolean;
  /** The reason why the jobs are stored in memory instead of in IndexedDB. */
  readonly error?: ServiceError;
  /** Returns all jobs, sorted by position. */
  all(): Promise<readonly Job[]>;
  /** Stores a job after all other jobs and returns its position. */
  add(job: NewJob): Promise<number>;
  /** Atomically replaces a job by the result of `change`; if undefined, the job stays. */
  update(order: number, change: (stored: Job) => Job | undefined): Promise<Job | undefined>;
  /** Removes the job at a position. */
  remove(order: number): Promise<unknown>;
}

export function refusedJob(job: Job, error: JobProblem): Job {
  // `...error` does not copy the message of an Error.
  return { ...job, state: "dead", problem: { ...error, message: error.message } };
}

export function discardedJob(
  job: Job,
  slug: ServiceErrorSlug = "discarded",
  message: string = slug,
): Job {
  return { ...refusedJob(job, new ServiceError(slug, message)), state: "discarded" };
}

export function newJobRequest(
  { randomId, now }: RequestEnvironment,
): Pick<Job, "after" | "idempotencyKey" | "createdAt" | "attempts" | "state" | "problem"> {
  return {
    after: null,
    idempotencyKey: randomId(),
    createdAt: now(),
    attempts: 0,
    state: "waiting",
    problem: null,
  };
}

export function isSameRequest(one: Job, other: Job): boolean {
  return one.state === other.state && one.idempotencyKey === other.idempotencyKey;
}

/** Identifies a job's row by its path, or, before its creation, by the id of the creating job. */
export function laneOf(
  { of, path }: Pick<Job, "of" | "path">,
  created: ReadonlyMap<string | null, { readonly path: string }>,
): string {
  return created.get(of)?.path ?? of ?? path;
}

export function rowTag(row: JobRow | null): string | null {
  // The cast is safe: only the service and the program's `base` set this member, to a string.
  return (row?._etag ?? null) as string | null;
}

/** Returns the id of the row at a path, in the format of `rowIdText`. */
export function rowKey(path: string): string {
  return JSON.stringify(path.slice(path.lastIndexOf("/") + 1).split(",").map(decodeURIComponent));
}
