import type { Overlays } from "../overlays/overlays.ts";
import { ServiceError } from "../request/service_error.ts";
import { type Job, type JobRow, rowKey, rowTag } from "./job.ts";

export type JobOverlays = Pick<Overlays, "add" | "acknowledge" | "reject" | "rowOf">;

/** A row that a job has created. */
export interface CreatedRow {
  readonly path: string;
  /** The tag of the row, or null if the resource has no tags. */
  readonly tag: string | null;
}

export interface RowEffect {
  readonly path: string;
  /** The tag of the row before the request. Null for a new row or an unknown tag. */
  readonly before: string | null;
  readonly tag: string;
}

/** The jobs of an outbox, as one tab knows them. */
export interface TabJobs {
  /** The jobs by id, in the order in which lists show them. */
  readonly jobs: Map<string, Job>;
  /** The created rows, by the id of the creating job. */
  readonly created: Map<string | null, CreatedRow>;
  /** The effects of sent requests by idempotency key, until lists show the effects. */
  readonly sent: Map<string | null, RowEffect>;
  readonly overlays: JobOverlays;
  readonly onDead: ((job: Job, error: ServiceError) => void) | undefined;
}

/** Shows a tab's jobs as overlays in live lists, and resolves the promises of their callers. */
export interface JobView {
  /** Shows the current state of a job, with the row of its response if there is one. */
  show(job: Job, row: JobRow | null): void;
  /** Remembers how a sent job has changed its row. */
  learn(job: Job, row: JobRow | null): void;
  /** Resolves when lists show the effect of a job. Rejects when the job is dead or discarded. */
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
      // A renewed request is shown on top of all existing jobs, so its job moves to the map's end.
      if (!isKnown) jobs.delete(id);
      if (state === "waiting" || state === "dead") jobs.set(id, job);
      if (state === "waiting") {
        if (isKnown) return;
        const key = path === resource ? null : rowKey(path);
        // Removes instructions about related rows, which are not values of the row.
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
        // An error in `onDead` is an error of the program and must not affect the outbox.
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
      // The program may ignore the promise. A rejection without a handler must not end the process.
      done.then(forget, forget);
      return done;
    },
  };
}
