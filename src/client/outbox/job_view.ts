import type { Overlays } from "../overlays/overlays.ts";
import { ServiceError } from "../request/service_error.ts";
import { type Job, type JobRow, rowKey, rowTag } from "./job.ts";

export type JobOverlays = Pick<Overlays, "add" | "acknowledge" | "reject" | "rowOf">;

/** A row that a job has created. */
export interface CreatedRow {
  readonly path: string;
  /** The row's ETag, or null if the resource has no ETags. */
  readonly tag: string | null;
}

export interface RowEffect {
  readonly path: string;
  /** The row's ETag before the request. Null for a new row, or if it was unknown. */
  readonly before: string | null;
  readonly tag: string;
}

/** The state that one tab has of the outbox and of sent requests. */
export interface TabJobs {
  /** The jobs by id, in the order in which lists show them. */
  readonly jobs: Map<string, Job>;
  /** The created rows, by the id of the creating job. */
  readonly created: Map<string | null, CreatedRow>;
  /** How sent requests have changed ETags, by idempotency key, until lists show the changes. */
  readonly sent: Map<string | null, RowEffect>;
  readonly overlays: JobOverlays;
  readonly onDead: ((job: Job, error: ServiceError) => void) | undefined;
}

/** Shows the jobs in live lists as overlays (unconfirmed writes). Resolves the writes' promises. */
export interface JobView {
  /** Shows the state of a job. `row` is the row of its response, if it has one. */
  show(job: Job, row: JobRow | null): void;
  /** Remembers the row's path and its new ETag after a sent job. */
  learn(job: Job, row: JobRow | null): void;
  /** Resolves when lists show the job's effect. Rejects when the job is dead or discarded. */
  wait(id: string): Promise<JobRow | null>;
}

interface Waiter {
  readonly resolve: (row: JobRow | null) => void;
  readonly reject: (error: ServiceError) => void;
}

const relating = /^{"(connect|disconnect|set|create)"/;

/** Creates a job view without jobs. */
export function createJobView({ jobs, created, sent, overlays, onDead }: TabJobs): JobView {
  const waiters = new Map<string, Waiter>();

  function learn({ id, of, path, ifMatch, idempotencyKey }: Job, row: JobRow | null): void {
    const tag = rowTag(row);
    if (of === id) created.set(id, { path, tag });
    if (tag !== null) sent.set(idempotencyKey, { path, before: ifMatch, tag });
  }

  return {
    learn,
    show(job, row) {
      const { id, resource, path, kind, body, state, problem } = job;
      const before = jobs.get(id);
      const waiter = waiters.get(id);
      const isKnown = before?.state === state && before.idempotencyKey === job.idempotencyKey;
      // The map's order is the order of effects. A request with a new key comes after all others.
      if (!isKnown) jobs.delete(id);
      if (state === "waiting" || state === "dead") jobs.set(id, job);
      if (state === "waiting") {
        if (isKnown) return;
        const key = path === resource ? null : rowKey(path);
        // Removes values that create or link related rows, because they are no values of the row.
        const fields = Object.fromEntries(
          Object.entries(body ?? {}).filter(([, value]) => !relating.test(JSON.stringify(value))),
        );
        overlays.add({ ...job, kind: kind === "replace" ? "update" : kind, key, fields });
      } else if (state === "sent") {
        learn(job, row);
        void overlays.acknowledge(id, row).then(() => {
          sent.delete(job.idempotencyKey);
          waiter?.resolve(row);
        });
      } else if (problem !== null) {
        const error = new ServiceError(problem.slug, problem.message, problem);
        overlays.reject(id);
        waiter?.reject(error);
        // If the program's `onDead` throws, the outbox must continue, so the call is asynchronous.
        if (state === "dead" && before?.state === "waiting") {
          queueMicrotask(() => onDead?.(job, error));
        }
      }
    },
    wait(id) {
      const done = new Promise<JobRow | null>((resolve, reject) =>
        waiters.set(id, { resolve, reject })
      );
      const forget = () => void waiters.delete(id);
      // Programs may ignore the promise, whose rejection must then not end the process.
      done.then(forget, forget);
      return done;
    },
  };
}
