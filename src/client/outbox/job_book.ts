import { createStore, type Store } from "../live/store.ts";
import { ServiceError } from "../request/service_error.ts";
import { type Job, type JobRow, type JobStorage, refusedJob } from "./job.ts";
import type { JobView, KnownJobs } from "./job_view.ts";
import type { ClientEnvironment } from "../../api/client_environment.ts";

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
  /**
   * Stores and shows another state of a job. Gives undefined, and changes nothing, where another tab
   * has already made another request of it, or has removed it.
   */
  change(job: Job, changes: Partial<Job>): Promise<Job | undefined>;
  /** Changes a job to the path and the tag that the jobs before it have led to, and counts it as sent. */
  prepare(job: Job): Promise<Job | undefined>;
  /** Removes a job that was sent or discarded, and shows its end, with the row of the answer. */
  end(job: Job, row?: JobRow | null): Promise<void>;
  /** Reads what is stored, after which the jobs of all tabs are here. */
  sync(): Promise<void>;
}

/** What a book of jobs needs. */
export interface JobBookOptions extends KnownJobs {
  readonly view: JobView;
  /** Never rejects. */
  readonly opening: Promise<JobStorage>;
  /** To the other tabs: the end of a job, or null when they have to read; null if there are none. */
  readonly channel: BroadcastChannel | null | undefined;
  readonly environment: ClientEnvironment;
  readonly signal: AbortSignal;
}

/** Begins without jobs: `sync` reads them. */
export function createJobBook(
  { jobs, created, sent, view, opening, channel, environment, signal }: JobBookOptions,
): JobBook {
  const [store, set] = createStore(stateOf(jobs), () => () => {});
  /** What is read and written, one after the other; never rejects. */
  let storing: Promise<unknown> = Promise.resolve();
  let reading: Promise<void> | null = null;

  function queue<T>(work: (storage: JobStorage) => Promise<T> | T): Promise<T> {
    const result = storing.then(async () => work(await opening));
    storing = result.catch(() => {});
    return result;
  }

  /** A closed channel would throw. */
  function announce(message: readonly [Job, JobRow | null] | null): void {
    if (!signal.aborted) channel?.postMessage(message);
  }

  function show(job: Job, row: JobRow | null = null): void {
    view.show(job, row);
    set(stateOf(jobs));
  }

  function showStored(stored: readonly Job[]): void {
    const ids = new Set(stored.map(({ id }) => id));
    for (const job of jobs.values()) {
      if (job.order === Infinity || ids.has(job.id)) continue;
      jobs.set(job.id, { ...job, order: Infinity });
      environment.after(1_000, () => {
        // No message about its end: the tab that has sent it was closed, or this one was asleep.
        const isGone = jobs.get(job.id)?.order === Infinity && !signal.aborted;
        if (isGone) show({ ...job, state: "sent" });
      });
    }
    for (const job of stored) view.show(job, null);
    set(stateOf(jobs));
  }

  function sync(): Promise<void> {
    return reading ??= queue(async (storage) => {
      reading = null;
      if (!signal.aborted) showStored(await storage.all());
      // What cannot be read now is read at the next wake, and a write that cannot be added says so.
    }).catch(() => {});
  }

  async function change(job: Job, changes: Partial<Job>): Promise<Job | undefined> {
    const { id, state, idempotencyKey } = job;
    // Refused, or replaced by another request.
    if (changes.idempotencyKey) await release(job);
    return queue(async (storage) => {
      const changed = await storage.update(
        // It may have been stored in between.
        jobs.get(id)?.order ?? job.order,
        (stored) =>
          stored.state === state && stored.idempotencyKey === idempotencyKey
            ? { ...stored, ...changes }
            : undefined,
      );
      if (changed === undefined) void sync();
      else {
        announce(null);
        show(changed);
      }
      return changed;
    });
  }

  /**
   * Changes what waits for a request that is done, or is not sent any more: what was seen over that
   * was then seen over what it had seen.
   */
  async function release(job: Job): Promise<void> {
    const { id, idempotencyKey, state, after, ifMatch } = job;
    for (const other of [...jobs.values()]) {
      const isSent = state === "sent";
      const isNext = other.after === idempotencyKey ||
        (isSent && other.of === id && other.id !== id);
      if (isNext) await change(other, isSent ? led(other) : { after, ifMatch });
    }
  }

  /** What the requests that were sent change in a job. */
  function led(job: Job): Pick<Job, "path" | "of" | "ifMatch" | "after"> {
    const row = created.get(job.of);
    const tag = sent.get(job.after)?.tag;
    return {
      path: row?.path ?? job.path,
      of: row === undefined ? job.of : null,
      ifMatch: tag ?? job.ifMatch ?? row?.tag ?? null,
      after: tag === undefined ? job.after : null,
    };
  }

  async function end(job: Job, row: JobRow | null = null): Promise<void> {
    if (job.state === "sent") view.learn(job, row);
    // Before its removal: a page that is closed in between sends it again, and learns it again.
    await release(job);
    await queue(async (storage) => {
      await storage.remove(jobs.get(job.id)?.order ?? job.order);
      announce([job, row]);
      show(job, row);
    });
  }

  if (channel) {
    channel.onmessage = ({ data }) => {
      if (data === null) void sync();
      // What is being read may be older than the message.
      else void queue(() => show(...data as [Job, JobRow | null]));
    };
  }

  return {
    ...store,
    ...{ change, end, sync },
    prepare: (job) => change(job, { ...led(job), attempts: job.attempts + 1 }),
    add(job) {
      show(job);
      const { order: _order, ...added } = job;
      // Not in the queue: the user may leave the page.
      const adding = opening.then((storage) => {
        const place = storage.add(added);
        announce(null);
        return place;
      }).then((order): Job => ({ ...job, order }), (cause): Job => ({
        ...refusedJob(job, new ServiceError("storage", `${cause}`)),
        state: "discarded",
      }));
      void queue(async () => {
        const stored = await adding;
        // It may have been read in between.
        if (jobs.get(job.id)?.order === Infinity) show(stored);
      });
    },
  };
}

function stateOf(jobs: ReadonlyMap<string, Job>): OutboxState {
  const list = [...jobs.values()].sort((one, other) => one.order - other.order || 0);
  const dead = list.filter(({ state }) => state === "dead").length;
  return { waiting: list.length - dead, dead, jobs: list };
}
