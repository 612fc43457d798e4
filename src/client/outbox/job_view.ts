import type { Overlays } from "../overlays/overlays.ts";
import { ServiceError } from "../request/service_error.ts";
import { type Job, type JobRow, rowKey, rowTag } from "./job.ts";

/** What an outbox needs of the overlays of its client. */
export type JobOverlays = Pick<Overlays, "add" | "acknowledge" | "reject" | "rowOf">;

/** What a tab knows of the jobs of an outbox. */
export interface KnownJobs {
  /** By their ids. */
  readonly jobs: Map<string, Job>;
  /** The paths of rows, by the ids of the jobs that have created them. */
  readonly paths: Map<string | null, string>;
  /**
   * Until lists show what a job has done: the path and the tag of its row before → the tag after,
   * and its id.
   */
  readonly tags: Map<string, readonly [tag: string, by: string]>;
  readonly overlays: JobOverlays;
  readonly onDead: ((job: Job, error: ServiceError) => void) | undefined;
}

/** How a tab shows jobs: in its live lists by overlays, and to what waits for their end. */
export interface JobView {
  /** Takes the present state of a job, with the row of the answer. */
  show(job: Job, row: JobRow | null): void;
  /** Remembers what follows from a job that was sent. */
  learn(job: Job, row: JobRow | null): void;
  /** Resolves when lists show what a job has done; rejects when it is dead or discarded. */
  wait(id: string): Promise<JobRow | null>;
}

interface Waiter {
  readonly resolve: (row: JobRow | null) => void;
  readonly reject: (error: ServiceError) => void;
}

/** Begins without jobs. */
export function createJobView({ jobs, paths, tags, overlays, onDead }: KnownJobs): JobView {
  const waiters = new Map<string, Waiter>();

  function learn({ id, of, path, ifMatch }: Job, row: JobRow | null): void {
    const tag = rowTag(row);
    if (of === id) paths.set(id, path);
    if (tag === null) return;
    tags.set(path + ifMatch, [tag, id]);
    // A hash may come back: this is the present tag, whatever has followed it before.
    tags.delete(path + tag);
  }

  return {
    learn,
    show(job, row) {
      const { id, resource, path, of, kind, body, state, problem } = job;
      const before = jobs.get(id);
      const waiter = waiters.get(id);
      if (state === "sent" || state === "discarded") jobs.delete(id);
      else jobs.set(id, job);
      if (state === "waiting") {
        // With another key it is another request.
        if (before?.state === state && before.idempotencyKey === job.idempotencyKey) return;
        const key = path === resource ? null : rowKey(path);
        const fields = body ?? {};
        overlays.add({
          id,
          path: resource,
          kind: kind === "replace" ? "update" : kind,
          key,
          of,
          fields,
        });
      } else if (state === "sent") {
        learn(job, row);
        void overlays.acknowledge(id, row).then(() => {
          tags.delete(path + job.ifMatch);
          waiter?.resolve(row);
        });
      } else if (problem !== null) {
        const error = new ServiceError(problem.slug, problem.message, problem);
        overlays.reject(id);
        waiter?.reject(error);
        // What fails in it is a fault of the program, not of the outbox.
        if (state === "dead" && before?.state === "waiting") {
          queueMicrotask(() => onDead?.(job, error));
        }
      }
    },
    wait(id) {
      const done = new Promise<JobRow | null>((resolve, reject) => {
        waiters.set(id, { resolve, reject });
      });
      const forget = () => void waiters.delete(id);
      // Also, a write whose promise is not used must not end the process.
      done.then(forget, forget);
      return done;
    },
  };
}
