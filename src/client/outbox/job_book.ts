import { createStore, type Store } from "../live/store.ts";
import { ServiceError } from "../request/service_error.ts";
import { type Job, type JobRow, type JobStorage, refusedJob } from "./job.ts";
import type { JobView, KnownJobs } from "./job_view.ts";

/** What waits and what was refused, as an outbox shows it. */
export interface OutboxState {
  /** How many writes wait. */
  readonly waiting: number;
  /** How many were refused. */
  readonly dead: number;
  /** In the order in which they were added. */
  readonly jobs: readonly Job[];
}

/** The jobs of an outbox: what happens to them is stored, then shown in all tabs. */
export interface JobBook extends Store<OutboxState> {
  /** Shows a job at once, and stores it. */
  add(job: Job): void;
  /** Stores another state of a job, then shows it, with the row of the answer to one that was sent. */
  put(job: Job, row?: JobRow | null): Promise<void>;
  /** Gives a job the path and the tag that the jobs before it have led to. */
  prepare(job: Job): Promise<Job>;
  /** Reads what is stored, after which the jobs of all tabs are here. */
  sync(): Promise<void>;
}

/** What a book of jobs needs. */
export interface JobBookOptions extends KnownJobs {
  readonly view: JobView;
  readonly storage: JobStorage;
  /** To the other tabs; null where there are none. */
  readonly channel: BroadcastChannel | null;
}

/** Begins without jobs: `sync` reads them. */
export function createJobBook(
  { jobs, next, tried, view, storage, channel }: JobBookOptions,
): JobBook {
  const [store, set] = createStore(stateOf(jobs), () => () => {});
  /** The operations of the storage, one after the other; never rejects. */
  let storing: Promise<unknown> = Promise.resolve();

  function queue<T>(work: () => Promise<T>): Promise<T> {
    const result = storing.then(work);
    storing = result.catch(() => {});
    return result;
  }

  function show(job: Job, row: JobRow | null = null): void {
    view.show(job, row);
    set(stateOf(jobs));
  }

  function publish(job: Job, row: JobRow | null = null): void {
    show(job, row);
    channel?.postMessage([job, row]);
  }

  async function put(job: Job, row?: JobRow | null): Promise<void> {
    if (job.state === "sent") {
      view.learn(job, row ?? null);
      await storing;
      // Before its removal: a page that is closed in between sends it again, and learns it again.
      for (const other of jobs.values()) if (other.id !== job.id) await prepare(other);
    }
    publish(
      await queue(async () => {
        // It may have been added in between.
        const known = { ...job, order: jobs.get(job.id)?.order ?? job.order };
        const isKept = job.state === "waiting" || job.state === "dead";
        await (isKept ? storage.change(known) : storage.remove(known.order));
        return known;
      }),
      row,
    );
  }

  async function prepare(job: Job): Promise<Job> {
    if (tried.has(job.idempotencyKey)) return job;
    const path = next.get(job.of) ?? job.path;
    let { ifMatch } = job;
    for (let tag; (tag = next.get(path + ifMatch)) !== undefined;) ifMatch = tag;
    if (path === job.path && ifMatch === job.ifMatch) return job;
    const prepared = { ...job, path, ifMatch, of: null };
    await put(prepared);
    return prepared;
  }

  async function storeNew({ order: _order, ...job }: Job): Promise<void> {
    try {
      publish({ ...job, order: await storage.add(job) });
    } catch (cause) {
      const dead = refusedJob(
        { ...job, order: Infinity },
        new ServiceError("storage", String(cause)),
      );
      show({ ...dead, state: "discarded" });
    }
  }

  if (channel !== null) {
    // What is being read may be older than the message.
    channel.onmessage = ({ data: [job, row] }) => void storing.then(() => show(job, row));
  }

  return {
    ...store,
    ...{ put, prepare },
    add(job) {
      show(job);
      void queue(() => storeNew(job));
    },
    // What cannot be read now is read at the next wake, and a write that cannot be added says so.
    sync: () =>
      queue(async () => {
        showStored(await storage.all(), jobs, view);
        set(stateOf(jobs));
      }).catch(() => {}),
  };
}

function showStored(stored: readonly Job[], jobs: ReadonlyMap<string, Job>, view: JobView): void {
  const ids = new Set(stored.map(({ id }) => id));
  for (const job of jobs.values()) {
    // Another tab was closed between its removal and its message.
    if (job.order < Infinity && !ids.has(job.id)) view.show({ ...job, state: "sent" }, null);
  }
  for (const job of stored) view.show(job, null);
}

function stateOf(jobs: ReadonlyMap<string, Job>): OutboxState {
  const list = [...jobs.values()].sort((one, other) => one.order - other.order || 0);
  const dead = list.filter(({ state }) => state === "dead").length;
  return { waiting: list.length - dead, dead, jobs: list };
}
