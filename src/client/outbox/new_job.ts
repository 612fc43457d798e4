import type { NewRow } from "../live/live_list_state.ts";
import type { Handle } from "../request/handle.ts";
import { type KeyInput, keyPath } from "../request/key_path.ts";
import { type Job, type JobRow, rowKey, rowTag } from "./job.ts";
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
  { jobs, next, overlays }: KnownJobs,
): Job {
  const id = environment.uuid();
  const creation = target === null ? id : isWrite(target) ? target.id : null;
  const path = isWrite(target) || target === null
    ? next.get(creation) ?? resource
    : `${resource}/${keyPath(target)}`;
  const of = path === resource ? creation : null;
  const row = base ?? seenRow({ resource, path }, overlays);
  let seen = { base: row, ifMatch: rowTag(row) };
  for (const job of jobs.values()) {
    // The user sees what this job sets, and not what others have set since.
    const isBefore = job.state === "waiting" && job.path === path && job.of === of;
    if (isBefore && base === undefined) seen = { base: job.base, ifMatch: job.ifMatch };
  }
  return {
    ...{ id, kind, resource, path, body, of, ...seen },
    idempotencyKey: environment.uuid(),
    createdAt: environment.now(),
    order: Infinity,
    conflicts: 0,
    state: "waiting",
    problem: null,
  };
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
