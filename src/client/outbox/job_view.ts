import type { Overlays } from "../overlays/overlays.ts";
import { ServiceError } from "../request/service_error.ts";
import { type Job, type JobRow, rowKey, rowTag } from "./job.ts";

/** What an outbox needs of the overlays of its client. */
export type JobOverlays = Pick<Overlays, "add" | "acknowledge" | "reject" | "rowOf">;

/** A row as it was created. */
export interface CreatedRow {
  readonly path: string;
  /** Null if its resource has no tags. */
  readonly tag: string | null;
}

/** What a request has done to a row. */
export interface SentRequest {
  readonly path: string;
  /** Null for a new row, and where none was known. */
  readonly before: string | null;
  readonly tag: string;
}

/** What a tab knows of the jobs of an outbox. */
export interface KnownJobs {
  /** By their ids, in the order in which they are shown. */
  readonly jobs: Map<string, Job>;
  /** The rows that were created, by the ids of the jobs that have done it. */
  readonly created: Map<string | null, CreatedRow>;
  /** What requests have changed, by their idempotency keys, until lists show it. */
  readonly sent: Map<string | null, SentRequest>;
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

const relating = /^{"(connect|disconnect|set|create)"/;

/** Begins without jobs. */
export function createJobView({ jobs, created, sent, overlays, onDead }: KnownJobs): JobView {
  const waiters = new Map<string, Waiter>();

  function learn({ id, of, path, ifMatch, idempotencyKey }: Job, row: JobRow | null): void {
    const tag = rowTag(row);
    if (of === id) created.set(id, { path, tag });
    if (tag !== null) sent.set(idempotencyKey, { path, before: ifMatch, tag });
  }

  return {
    learn,
    show(job, row) {
      const { id, resource, path, of, kind, body, state, problem } = job;
      const before = jobs.get(id);
      const waiter = waiters.get(id);
      const isKnown = before?.state === state && before.idempotencyKey === job.idempotencyKey;
      // In the order in which they are shown: another request is shown above all that are here.
      if (!isKnown) jobs.delete(id);
      if (state === "waiting" || state === "dead") jobs.set(id, job);
      if (state === "waiting") {
        if (isKnown) return;
        const key = path === resource ? null : rowKey(path);
        // What a body asks of relations is no value of the row, in which others may stand.
        const fields = Object.fromEntries(
          Object.entries(body ?? {}).filter(([, value]) => !relating.test(JSON.stringify(value))),
        );
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
          sent.delete(job.idempotencyKey);
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
      const done = new Promise<JobRow | null>((resolve, reject) =>
        waiters.set(id, { resolve, reject })
      );
      const forget = () => void waiters.delete(id);
      // Also, a write whose promise is not used must not end the process.
      done.then(forget, forget);
      return done;
    },
  };
}
