import type { ProblemBody } from "../../protocol/problem_codes.ts";
import type { RequiredCaptcha, ServiceErrorSlug } from "../request/service_error.ts";
import type { ClientEnvironment } from "../../api/client_environment.ts";

/** A row, or a part of one. */
export type JobRow = Readonly<Record<string, unknown>>;

/** A write that waits for the service, as it is stored. */
export interface Job {
  /** Also its `Service-Optimistic-Id`. */
  readonly id: string;
  /** Its place among all jobs; infinite until it is stored. */
  readonly order: number;
  /** Made once, and kept when the same request is sent again. */
  readonly idempotencyKey: string;
  /** What it does to the row. */
  readonly kind: "create" | "update" | "replace" | "delete";
  /** The path of its resource: `/api/posts`. */
  readonly resource: string;
  /** The path of its row: `/api/posts/7`; that of the resource while there is no row. */
  readonly path: string;
  /** The id of the job that creates the row, which is its own for that job; null for known rows. */
  readonly of: string | null;
  /** What is sent; null for a delete. */
  readonly body: JobRow | null;
  /** The tag of the row that the user saw; null if no tag is known. */
  readonly ifMatch: string | null;
  /** The row that the user saw, without any waiting write; null if it is not known. */
  readonly base: JobRow | null;
  /** When its key was made: milliseconds since 1970. */
  readonly createdAt: number;
  /**
   * The idempotency key of the request that waited for its row when it was added, whose effect the
   * user saw: the tag that it leads to replaces its own. Null without one, and once that is done.
   */
  readonly after: string | null;
  /** How often its row had changed since the user saw it. */
  readonly conflicts: number;
  /** How often it was sent with its key, or may have been. */
  readonly attempts: number;
  /**
   * A dead job was refused, and is kept until it is revived or discarded. Those that were sent or
   * discarded are kept no longer.
   */
  readonly state: "waiting" | "dead" | "sent" | "discarded";
  /** Why it was refused or discarded. */
  readonly problem: JobProblem | null;
}

/** The facts of a `ServiceError` that can be stored. */
export interface JobProblem {
  /** What went wrong. */
  readonly slug: ServiceErrorSlug;
  /** In words. */
  readonly message: string;
  /** Of the answer; 0 where there was none. */
  readonly status: number;
  /** The body of the answer; null without one. */
  readonly problem: ProblemBody | null;
  /** The CAPTCHA that has to be solved; null for every other error. */
  readonly captcha: RequiredCaptcha | null;
}

/** A job for its storage, which gives it its place. */
export type NewJob = Omit<Job, "order">;

/**
 * Keeps jobs between two visits of a page. Its operations take effect, and resolve, in the order in
 * which they are called.
 */
export interface JobStorage {
  /** True if other tabs, or other processes, have the same jobs. */
  readonly isShared: boolean;
  /** All jobs, by their places. */
  all(): Promise<readonly Job[]>;
  /** Adds a job after all others, and gives its place. */
  add(job: NewJob): Promise<number>;
  /**
   * Replaces the job at a place by what `change` makes of it, and gives that; undefined if there
   * is none, or where `change` gives undefined. No other operation comes in between.
   */
  update(order: number, change: (stored: Job) => Job | undefined): Promise<Job | undefined>;
  /** Removes the job at a place. */
  remove(order: number): Promise<unknown>;
}

/** The job after it was refused, or could not be stored. */
export function refusedJob(job: Job, error: JobProblem): Job {
  // The message of an Error is no member that a spread takes.
  return { ...job, state: "dead", problem: { ...error, message: error.message } };
}

/** The job with another request in the place of its own: under a new key, as if it were new. */
export function renewedJob(
  job: Job,
  changes: Partial<Job>,
  { uuid, now }: ClientEnvironment,
): Job {
  return {
    ...job,
    after: null,
    idempotencyKey: uuid(),
    createdAt: now(),
    attempts: 0,
    state: "waiting",
    problem: null,
    ...changes,
  };
}

/**
 * A dead job over the row as it is now: as lists show it, or as the service has said. Where it may have
 * been carried out in spite of its refusal, it is the same request again, which the service knows by
 * its key.
 */
export function revivedJob(
  job: Job,
  seen: JobRow | null,
  body: JobRow | null,
  environment: ClientEnvironment,
): Job {
  const { base, ifMatch, idempotencyKey, attempts, problem } = job;
  const { status, details } = problem?.problem ?? {};
  // These refusals are kept under the key; with another one the key is free again, or used before.
  // A 400 or 404 may also come from a process that has not looked the key up.
  const isAnswered = (attempts === 1 ? /40[049]|412|422/ : /409|412|422/).test(`${status}`) &&
    !problem?.slug.startsWith("idem");
  const current = rowTag(seen ?? { _etag: details?.currentETag });
  return renewedJob(
    job,
    isAnswered
      ? { body, base: seen ?? base, ifMatch: current ?? ifMatch, conflicts: 0 }
      : { body, idempotencyKey, attempts },
    environment,
  );
}

/** The jobs of a lane are sent one after the other: a row's path, or the job that creates the row. */
export function laneOf(
  { of, path }: Job,
  created: ReadonlyMap<string | null, { readonly path: string }>,
): string {
  return created.get(of)?.path ?? of ?? path;
}

/** The tag of a row that was read with one. */
export function rowTag(row: JobRow | null): string | null {
  return typeof row?._etag === "string" ? row._etag : null;
}

/** The key of the row at a path, its values as text: a list for a composite key. */
export function rowKey(path: string): string | readonly string[] {
  const parts = path.slice(path.lastIndexOf("/") + 1).split(",").map(decodeURIComponent);
  return parts.length > 1 ? parts : parts[0] ?? "";
}
