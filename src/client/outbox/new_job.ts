import type { NewRow } from "../live/live_list_state.ts";
import type { Handle } from "../request/handle.ts";
import { type KeyInput, keyPath } from "../request/key_path.ts";
import { type Job, type JobRow, laneOf, rowKey, rowTag } from "./job.ts";
import type { JobOverlays, KnownJobs } from "./job_view.ts";

/** A write as it is added. */
export interface NewWrite {
  readonly kind: Job["kind"];
  /** The row: its key, or the write that creates it; null for a new row. */
  readonly target: KeyInput | NewRow | null;
  readonly body: JobRow | null;
  /** The row that the user saw; undefined where live lists know it. */
  readonly base?: JobRow | undefined;
}

/** The job of a write to a resource, which is not stored yet. */
export function newJob(
  { kind, target, body, base }: NewWrite,
  { transport: { environment }, path: resource }: Handle,
  { jobs, paths, tags, overlays }: KnownJobs,
): Job {
  const id = environment.uuid();
  const creation = target === null ? id : isWrite(target) ? target.id : null;
  const path = isWrite(target) || target === null
    ? paths.get(creation) ?? resource
    : `${resource}/${keyPath(target)}`;
  const row = base ?? seenRow({ resource, path }, overlays);
  const job: Job = {
    ...{ id, kind, resource, path, order: Infinity, conflicts: 0, state: "waiting", problem: null },
    of: path === resource ? creation : null,
    idempotencyKey: environment.uuid(),
    createdAt: environment.now(),
    ...asSent({ body, base: row }),
    ifMatch: rowTag(row),
    seen: [],
  };
  const lane = laneOf(job, paths);
  const seen = [...jobs.values()].filter((other) =>
    other.state === "waiting" && laneOf(other, paths) === lane
  );
  // The user sees what these jobs set, and not what others have set since.
  const before = base === undefined ? seen.at(-1) ?? job : job;
  return {
    ...job,
    seen: seen.map((other) => other.id),
    base: before.base,
    ifMatch: lastTag({ path, ifMatch: before.ifMatch }, tags),
  };
}

/**
 * A copy, as the service receives it: what a framework observes cannot be stored, and the program
 * may change its objects while the job waits.
 */
export function asSent<T>(value: T): T {
  // JSON gives what it was given, apart from what the service cannot receive.
  return JSON.parse(JSON.stringify(value)) as T;
}

/** The tag of a row after the jobs that were sent; after those that its user saw, where given. */
export function lastTag(
  { path, ifMatch }: Pick<Job, "path" | "ifMatch">,
  tags: KnownJobs["tags"],
  seen?: readonly string[],
): string | null {
  const [tag, by] = tags.get(path + ifMatch) ?? [];
  if (tag === undefined || by === undefined || seen?.includes(by) === false) return ifMatch;
  return lastTag({ path, ifMatch: tag }, tags, seen);
}

/** The row of a job as the service has sent it to live lists; null where none has it. */
export function seenRow(
  { resource, path }: Pick<Job, "resource" | "path">,
  overlays: JobOverlays,
): JobRow | null {
  return path === resource ? null : overlays.rowOf(resource, rowKey(path));
}

function isWrite(target: NewWrite["target"]): target is NewRow {
  return target instanceof Object && "id" in target;
}
