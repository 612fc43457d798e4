import { createStore, type Store } from "../live/store.ts";
import { ServiceError } from "../request/service_error.ts";
import { type Job, type JobRow, type JobStorage, refusedJob } from "./job.ts";
import type { JobView, TabJobs } from "./job_view.ts";
import type { ClientEnvironment } from "../../api/client_environment.ts";

/** The jobs of an outbox and their numbers. */
export interface OutboxState {
  /** The number of waiting writes. */
  readonly waiting: number;
  /** The number of refused writes. */
  readonly dead: number;
  /** The jobs, in the order in which the program added them. */
  readonly jobs: readonly Job[];
}

/** The jobs of an outbox. A change of a job is stored, and then shown in all tabs. */
export interface JobBook extends Store<OutboxState> {
  /** Shows a job immediately and stores it. */
  add(job: Job): void;
  /** Stores and shows changes of a job. Returns undefined if another tab has changed the job. */
  change(job: Job, changes: Partial<Job>): Promise<Job | undefined>;
  /** Stores the attempt, and the path and ETag of the row as earlier jobs have changed them. */
  prepare(job: Job): Promise<Job | undefined>;
  /** Removes a sent or discarded job from the storage. Shows its end, with the response's row. */
  end(job: Job, row?: JobRow | null): Promise<void>;
  /** Reads the stored jobs, so that this tab knows the jobs of all tabs. */
  sync(): Promise<void>;
}

export interface JobBookOptions extends TabJobs {
  readonly view: JobView;
  /** Resolves to the storage. Never rejects. */
  readonly opening: Promise<JobStorage>;
  /**
   * The channel to the other tabs. A message contains an ended job with its row, or is null: the
   * other tabs then read the storage. Null if there are no other tabs.
   */
  readonly channel: BroadcastChannel | null | undefined;
  readonly environment: ClientEnvironment;
  readonly signal: AbortSignal;
}

/** Creates a job book without jobs; {@link JobBook.sync} reads the stored jobs. */
export function createJobBook(
  { jobs, created, sent, view, opening, channel, environment, signal }: JobBookOptions,
): JobBook {
  const [store, set] = createStore(stateOf(jobs), () => () => {});
  /** The last queued operation. Reads and writes of the storage run one after the other. */
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
        // The job's end was not announced: the sending tab was closed, or this tab was asleep.
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
    // The job gets a new key only after its old request was refused or replaced.
    if (changes.idempotencyKey) await release(job);
    return queue(async (storage) => {
      const changed = await storage.update(
        // The job may have been stored, and so have a position, since this call began.
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
   * Updates the jobs that follow a request to the same row, after it was sent or given up. If it
   * was given up, these jobs then follow the request before it.
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

  /** Returns the members of a job that earlier requests to the same row change. */
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
    // The following jobs are updated first: a crash before the removal only repeats this job.
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
      // The message waits for a running read of the storage, which may be older.
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
      // The user may leave the page, so `add` does not wait for queued operations.
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
        // In the meantime, a read of the storage may have shown the job.
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
