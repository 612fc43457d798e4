import type { NewRow } from "../live/live_list_state.ts";
import type { Handle } from "../../api/handle.ts";
import { type KeyInput, keyPath } from "../request/key_path.ts";
import { plainTag } from "../request/plain_tag.ts";
import { type Job, type JobRow, laneOf, newJobRequest, rowKey, rowTag } from "./job.ts";
import type { JobOverlays, TabJobs } from "./job_view.ts";

export interface NewWrite {
  readonly kind: Job["kind"];
  readonly target: KeyInput | NewRow | null;
  readonly body: JobRow | null;
  readonly base?: JobRow | undefined;
}

export function newJob(
  { kind, target, body, base }: NewWrite,
  { transport: { environment }, path: resource }: Handle,
  { jobs, last, created, sent, overlays }: TabJobs,
): Job {
  const id = environment.randomId();
  // The cast is safe: only a reference to a write has the member `id`, a key has none.
  const creation = target === null ? id : (Object(target) as Partial<NewRow>).id ?? null;
  // The cast is safe: a target is a key or a reference to a write.
  const path = creation === null
    ? `${resource}/${keyPath(target as KeyInput)}`
    : created.get(creation)?.path ?? resource;
  const row = base ?? seenRow({ resource, path }, overlays);
  const of = path === resource ? creation : null;
  const lane = laneOf({ of, path }, created);
  if (!last.size) {
    for (const one of jobs.values()) {
      if (one.state === "waiting") last.set(laneOf(one, created), one);
    }
  }
  const before = last.get(lane);
  // Without `base`, the user saw the effect of `before` (an earlier job): both share base and ETag.
  const job: Job = {
    ...{ id, kind, resource, path, of, order: Infinity, conflicts: 0 },
    ...newJobRequest(environment),
    ...jsonCopy({ body, base: row }),
    ifMatch: presentTag(path, rowTag(row), sent),
    ...(!base && before && { base: before.base, ifMatch: before.ifMatch }),
    after: before?.idempotencyKey ?? null,
  };
  last.set(lane, job);
  return job;
}

/**
 * Returns the ETag that the row has after all sent requests, even if no list shows their effects
 * yet. If a list shows a newer row than they wrote, the ETag is older, to cause a conflict.
 */
function presentTag(path: string, listed: string | null, sent: TabJobs["sent"]): string | null {
  let present = listed;
  for (const { path: changed, before, tag } of sent.values()) {
    if (changed !== path) continue;
    const continues = plainTag(before) === plainTag(present) || plainTag(tag) === plainTag(listed);
    present = continues ? tag : before ?? present;
  }
  return present;
}

/** Copies a value as JSON. Proxies cannot be stored, and the program may modify its objects. */
export function jsonCopy<T>(value: T): T {
  // The cast is safe: JSON preserves all values that the service can receive.
  return JSON.parse(JSON.stringify(value)) as T;
}

export function seenRow(
  { resource, path }: Pick<Job, "resource" | "path">,
  overlays: JobOverlays,
): JobRow | null {
  return path === resource ? null : overlays.rowOf(resource, rowKey(path));
}
