import type { ClientEnvironment } from "../../api/client_environment.ts";
import { createStore, type Store } from "../live/store.ts";
import type { Overlay } from "../overlays/overlay.ts";
import type { Overlays } from "../overlays/overlays.ts";
import { ServiceError } from "../request/service_error.ts";
import { isSameRequest, type Job, type JobRow, rowKey, rowTag } from "./job.ts";

export type JobOverlays = Pick<Overlays, "add" | "acknowledge" | "reject" | "rowOf">;

export interface CreatedRow {
  readonly path: string;
  readonly tag: string | null;
}

export interface RowEffect {
  readonly path: string;
  readonly before: string | null;
  readonly tag: string;
}

export interface TabJobs {
  readonly jobs: Map<string, Job>;
  /** The last waiting job of each row, by `laneOf`. Empty if it must be found again. */
  readonly last: Map<string, Job>;
  readonly created: Map<string | null, CreatedRow>;
  /** The effects of sent requests, by idempotency key, until live lists show these effects. */
  readonly sent: Map<string | null, RowEffect>;
  readonly overlays: JobOverlays;
  readonly computed?: Overlay["computed"];
  readonly onDead?: ((job: Job, error: ServiceError) => void) | undefined;
}

export interface JobViewInput extends TabJobs {
  readonly environment: ClientEnvironment;
  readonly signal: AbortSignal;
}

/** The jobs of an outbox, with the number of waiting jobs and the number of refused jobs. */
export interface OutboxState {
  /** The number of waiting writes. */
  readonly waiting: number;
  /** The number of refused writes. */
  readonly dead: number;
  /** The jobs, in the order in which the program added them. */
  readonly jobs: readonly Job[];
  /** The reason why the jobs are in memory instead of IndexedDB; otherwise null. */
  readonly storageError: ServiceError | null;
}

export interface JobView extends Store<OutboxState> {
  show(job: Job, row?: JobRow | null): void;
  /** Shows the stored jobs. A job that has been missing for one second counts as sent. */
  showAll(stored: readonly Job[], error?: ServiceError | null): void;
  learn(job: Job, row: JobRow | null): void;
  wait(id: string): Readonly<Record<"acknowledged" | "done", Promise<JobRow | null>>>;
}

export function createJobView(
  { jobs, last, created, sent, overlays, onDead, computed, environment, signal }: JobViewInput,
): JobView {
  let storageError: ServiceError | null = null;
  const [store, change] = createStore(() => stateOf(jobs, storageError), () => () => {});
  const waiters = new Map<string, Omit<PromiseWithResolvers<Acknowledgement>, "promise">>();

  function learn({ id, of, path, ifMatch, idempotencyKey }: Job, row: JobRow | null): void {
    const tag = rowTag(row);
    last.clear();
    if (of === id) created.set(id, { path, tag });
    if (tag !== null) sent.set(idempotencyKey, { path, before: ifMatch, tag });
  }

  function apply(job: Job, row: JobRow | null): void {
    const { id, state, problem } = job;
    const before = jobs.get(id);
    if (before || job.order < Infinity) last.clear(); // A new job of this tab is in `last` already.
    const isKnown = before && isSameRequest(before, job);
    // Live lists apply the jobs in the map's order. A new idempotency key moves a job to the end.
    if (!isKnown) jobs.delete(id);
    if (state === "sent") {
      learn(job, row);
      const seen = overlays.acknowledge(id, row).then(() => sent.delete(job.idempotencyKey));
      waiters.get(id)?.resolve([row, seen]);
    } else if (problem) {
      const error = new ServiceError(problem.slug, problem.message, problem);
      overlays.reject(id);
      waiters.get(id)?.reject(error);
      if (state === "dead") {
        jobs.set(id, job);
        // Asynchronous, because the outbox must continue if the program's `onDead` throws.
        if (before?.state === "waiting") queueMicrotask(() => onDead?.(job, error));
      }
    } else {
      jobs.set(id, job);
      if (!isKnown) overlays.add({ ...overlayOf(job), computed });
    }
  }

  function show(job: Job, row: JobRow | null = null): void {
    apply(job, row);
    change();
  }

  return {
    ...{ ...store, learn, show },
    showAll(stored, error = null) {
      storageError = error;
      const ids = new Set(stored.map(({ id }) => id));
      for (const job of jobs.values()) {
        if (job.order === Infinity || ids.has(job.id)) continue;
        jobs.set(job.id, { ...job, order: Infinity });
        environment.after(1_000, () => {
          // No tab announced the job's end: the sending tab was closed, or this tab was asleep.
          const isGone = jobs.get(job.id)?.order === Infinity && !signal.aborted;
          if (isGone) show({ ...job, state: "sent" });
        });
      }
      for (const job of stored) apply(job, null);
      change();
    },
    wait(id) {
      const sent = new Promise<Acknowledgement>((resolve, reject) =>
        waiters.set(id, { resolve, reject })
      );
      const acknowledged = sent.then(([row]) => row);
      const done = sent.then(([row, seen]) => seen.then(() => row));
      const forget = () => void waiters.delete(id);
      // If the program ignores a promise, its rejection must not end the process.
      for (const promise of [acknowledged, done]) promise.then(forget, forget);
      return { acknowledged, done };
    },
  };
}

type Acknowledgement = readonly [row: JobRow | null, seen: Promise<unknown>];

function overlayOf(job: Job): Overlay {
  const { resource, path, body } = job;
  return {
    ...job,
    key: path === resource ? null : rowKey(path),
    // Omits values that create or link related rows: a row of a list does not contain them.
    fields: Object.fromEntries(
      Object.entries(body ?? {}).filter(([, value]) => !relating.test(JSON.stringify(value))),
    ),
  };
}

const relating = /^{"(connect|disconnect|set|create)"/;

function stateOf(
  jobs: ReadonlyMap<string, Job>,
  storageError: ServiceError | null,
): OutboxState {
  const list = [...jobs.values()].sort((one, other) => one.order - other.order);
  const dead = list.filter(({ state }) => state === "dead").length;
  return { waiting: list.length - dead, dead, jobs: list, storageError };
}
