import { createStore, type Store } from "../live/store.ts";
import { ServiceError } from "../request/service_error.ts";
import { type Job, type JobRow, type JobStorage, refusedJob } from "./job.ts";
import type { JobView, TabJobs } from "./job_view.ts";
import type { ClientEnvironment } from "../../api/client_environment.ts";

/** The state of an outbox: its waiting writes and its refused writes. */
export interface OutboxState {
  /** The number of waiting writes. */
  readonly waiting: number;
  /** The number of refused writes. */
  readonly dead: number;
  /** The jobs, in the order in which the program added them. */
  readonly jobs: readonly Job[];
}

/** The jobs of an outbox. Each change of a job is first stored and then shown in all tabs. */
export interface JobBook extends Store<OutboxState> {
  /** Shows a job immediately and stores it. */
  add(job: Job): void;
  /** Stores and shows a new state of a job, or returns undefined if another tab changed the job. */
  change(job: Job, changes: Partial<Job>): Promise<Job | undefined>;
  /** Sets the path and tag of a job from the results of earlier jobs. Counts the attempt. */
  prepare(job: Job): Promise<Job | undefined>;
  /** Removes a sent or discarded job, and shows its final state with the row of the response. */
  end(job: Job, row?: JobRow | null): Promise<void>;
  /** Reads the stored jobs. Afterwards this tab knows the jobs of all tabs. */
  sync(): Promise<void>;
}

export interface JobBookOptions extends TabJobs {
  readonly view: JobView;
  /** Resolves to the storage. This promise never rejects. */
  readonly opening: Promise<JobStorage>;
  /**
   * The channel to the other tabs. A message is an ended job with its row, or null to make the
   * other tabs read the storage. Null if there are no other tabs.
   */
  readonly channel: BroadcastChannel | null | undefined;
  readonly environment: ClientEnvironment;
  readonly signal: AbortSignal;
}

/** Creates a job book without jobs. `sync` reads the stored jobs. */
export function createJobBook(
  { jobs, created, sent, view, opening, channel, environment, signal }: JobBookOptions,
): JobBook {
  const [store, set] = createStore(stateOf(jobs), () => () => {});
  /** The end of the queue of reads and writes, which run one after the other. Never rejects. */
  let storing: Promise<unknown> = Promise.resolve();
  let reading: Promise<void> | null = null;

  function queue<T>(work: (storage: JobStorage) => Promise<T> | T): Promise<T> {
    const result = storing.then(async () => work(await opening));
    storing = result.catch(() => {});
    return result;
  }

  /** Sends a message to the other tabs. Does nothing if the channel is closed and would throw. */
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
        // No message reported the job's end: the sending tab was closed, or this tab slept.
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
      // A failed read is repeated at the next wake-up. `add` reports a failed write.
    }).catch(() => {});
  }

  async function change(job: Job, changes: Partial<Job>): Promise<Job | undefined> {
    const { id, state, idempotencyKey } = job;
    // A new key means that the old request was refused or replaced.
    if (changes.idempotencyKey) await release(job);
    return queue(async (storage) => {
      const changed = await storage.update(
        // The job may have been stored since this call began.
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
   * Updates the jobs that depend on a request, after the request was sent or given up. If the
   * request was given up, those jobs then depend on its predecessor.
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

  /** Returns the members of a job that depend on requests that were sent before the job. */
  function led(job: Job): Pick<Job, "path" | "of" | "ifMatch" | "after"> {
    const row = created.get(job.of);
    const tag = sent.get(job.after)?.tag;
    return {
      path: row?.path ?? job.path,
      of: row ? null : job.of,
      ifMatch: tag ?? job.ifMatch ?? row?.tag ?? null,
      after: tag ? null : job.after,
    };
  }

  async function end(job: Job, row: JobRow | null = null): Promise<void> {
    if (job.state === "sent") view.learn(job, row);
    // The dependent jobs come first. After a crash before the removal, this job is sent again.
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
      // The message waits in the queue, because a running read may be older than the message.
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
      // Storing does not wait for the queue, because the user may leave the page.
      const adding = opening.then((storage) => {
        const place = storage.add(added);
        announce(null);
        return place;
      }).then(
        (order): Job => ({ ...job, order }),
        (cause) => refusedJob(job, new ServiceError("storage", `${cause}`), "discarded"),
      );
      void queue(async () => {
        const stored = await adding;
        // A read may have shown the stored job in the meantime.
        if (jobs.get(job.id)?.order === Infinity) show(stored);
      });
    },
  };
}

function stateOf(jobs: ReadonlyMap<string, Job>): OutboxState {
  const list = [...jobs.values()].sort((one, other) => one.order - other.order);
  const dead = list.filter(({ state }) => state === "dead").length;
  return { waiting: list.length - dead, dead, jobs: list };
}
