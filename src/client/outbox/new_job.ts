import type { NewRow } from "../live/live_list_state.ts";
import type { Handle } from "../../api/handle.ts";
import { type KeyInput, keyPath } from "../request/key_path.ts";
import { type Job, type JobRow, laneOf, rowKey, rowTag } from "./job.ts";
import type { JobOverlays, TabJobs } from "./job_view.ts";

export interface NewWrite {
  readonly kind: Job["kind"];
  /** The row's key, or the write that creates the row. Null for a new row. */
  readonly target: KeyInput | NewRow | null;
  readonly body: JobRow | null;
  /** The row that the user saw. Undefined to use the row in the live lists. */
  readonly base?: JobRow | undefined;
}

/** Returns the job for a write to a resource. The function does not store the job. */
export function newJob(
  { kind, target, body, base }: NewWrite,
  { transport: { environment }, path: resource }: Handle,
  { jobs, created, sent, overlays }: TabJobs,
): Job {
  const id = environment.randomId();
  const creation = target === null ? id : isWrite(target) ? target.id : null;
  // The cast is safe: a target that refers to no creating write is a key.
  const path = creation === null
    ? `${resource}/${keyPath(target as KeyInput)}`
    : created.get(creation)?.path ?? resource;
  const row = base ?? seenRow({ resource, path }, overlays);
  const job: Job = {
    ...{
      id,
      kind,
      resource,
      path,
      order: Infinity,
      conflicts: 0,
      attempts: 0,
      state: "waiting",
      problem: null,
    },
    of: path === resource ? creation : null,
    idempotencyKey: environment.randomId(),
    createdAt: environment.now(),
    ...jsonCopy({ body, base: row }),
    ifMatch: presentTag(path, rowTag(row), sent),
    after: null,
  };
  const lane = laneOf(job, created);
  const before = [...jobs.values()].findLast((other) =>
    other.state === "waiting" && laneOf(other, created) === lane
  );
  if (before === undefined) return job;
  // The user saw the result of the previous job, but not later changes by other users.
  const seen = base === undefined ? before : job;
  return { ...job, after: before.idempotencyKey, base: seen.base, ifMatch: seen.ifMatch };
}

/**
 * Returns the tag that a row has after the sent requests, which lists still show as overlays. If a
 * list already has a newer row, the user sees a mixture of both rows. Then the tag is outdated, so
 * the service reports a conflict.
 */
function presentTag(path: string, listed: string | null, sent: TabJobs["sent"]): string | null {
  let present = listed;
  // The map contains the requests in the order in which they were sent.
  for (const { path: changed, before, tag } of sent.values()) {
    if (changed !== path) continue;
    present = before === present || tag === listed ? tag : before ?? present;
  }
  return present;
}

/**
 * Returns a copy of the value as the service will receive it. Reactive proxies of frameworks cannot
 * be stored, and the program may modify its objects while the job waits.
 */
export function jsonCopy<T>(value: T): T {
  // The cast is safe: JSON preserves every part that the service can receive.
  return JSON.parse(JSON.stringify(value)) as T;
}

/** Returns the row of a job as live lists received it, or null if no list contains the row. */
export function seenRow(
  { resource, path }: Pick<Job, "resource" | "path">,
  overlays: JobOverlays,
): JobRow | null {
  return path === resource ? null : overlays.rowOf(resource, rowKey(path));
}

function isWrite(target: NewWrite["target"]): target is NewRow {
  return target instanceof Object && "id" in target;
}
