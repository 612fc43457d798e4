import { discardedJob, isSameRequest, type Job, type JobRow, type JobStorage } from "./job.ts";
import { createJobView, type JobView, type JobViewInput } from "./job_view.ts";

export interface OutboxJobs extends Pick<JobView, "get" | "subscribe" | "wait"> {
  /** Shows a job immediately and stores it. */
  add(job: Job): void;
  /** Stores and shows changes of a job. Returns undefined if another tab has changed the job. */
  change(job: Job, changes: Partial<Job>): Promise<Job | undefined>;
  prepare(job: Job): Promise<Job | undefined>;
  end(job: Job, row?: JobRow | null): Promise<void>;
  sync(): Promise<void>;
}

export interface OutboxJobsOptions extends JobViewInput {
  /** Resolves to the storage. Never rejects. */
  readonly opening: Promise<JobStorage>;
  /** The other tabs. A message is an ended job with its row, or null after other changes. */
  readonly channel: BroadcastChannel | null | undefined;
}

export function createOutboxJobs(options: OutboxJobsOptions): OutboxJobs {
  const { jobs, created, sent } = options;
  const view = createJobView(options);
  const stored = storedJobs(view, options);

  async function change(job: Job, changes: Partial<Job>): Promise<Job | undefined> {
    // A new idempotency key means a new request, so other jobs must not wait for the old request.
    if (changes.idempotencyKey) await release(job);
    return stored.change(job, changes);
  }

  /** Updates the jobs that wait for `job`. If it was not sent, they wait for its predecessor. */
  async function release(job: Job): Promise<void> {
    const { id, idempotencyKey, state, after, ifMatch } = job;
    for (const other of [...jobs.values()]) {
      const isSent = state === "sent";
      const isNext = other.after === idempotencyKey ||
        (isSent && other.of === id && other.id !== id);
      if (isNext) await change(other, isSent ? led(other) : { after, ifMatch });
    }
  }

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

  return {
    ...view,
    ...stored,
    change,
    prepare: (job) => change(job, { ...led(job), attempts: job.attempts + 1 }),
    async end(job, row = null) {
      if (job.state === "sent") view.learn(job, row);
      // Updates the waiting jobs first: after a crash before `end`, only this job is sent again.
      await release(job);
      await stored.end(job, row);
    },
  };
}

function storedJobs({ show, showAll }: JobView, options: OutboxJobsOptions) {
  const { jobs, opening, channel, signal } = options;
  let storing: Promise<unknown> = Promise.resolve();
  let reading: Promise<void> | null = null;
  /** The jobs that were added in this tick. */
  const adding: Job[] = [];

  function queue<T>(work: (storage: JobStorage) => Promise<T> | T): Promise<T> {
    const result = storing.then(async () => work(await opening));
    storing = result.catch(() => {});
    return result;
  }

  /** Returns a job's position now: the job may have been stored since the caller read it. */
  const orderOf = ({ id, order }: Job) => jobs.get(id)?.order ?? order;

  /** Sends a message to the other tabs, unless aborted: a closed channel would throw. */
  function announce(message: readonly [Job, JobRow | null] | null = null): void {
    if (!signal.aborted) channel?.postMessage(message);
  }

  const sync = () =>
    reading ??= queue(async (storage) => {
      reading = null;
      if (!signal.aborted) showAll(await storage.all(), storage.error);
    }).catch(() => {});

  if (channel) {
    channel.onmessage = ({ data }) => {
      if (data === null) void sync();
      // Queued, because a running read of the storage may still return an older state.
      else void queue(() => show(...data as [Job, JobRow | null]));
    };
  }

  return {
    sync,
    add(job: Job): void {
      show(job);
      if (adding.push(job) > 1) return;
      // Stores the jobs without waiting for the queue, because the user may soon leave the page.
      const stored = opening.then((storage) => {
        announce();
        return Promise.all(adding.splice(0).map((one) => storeJob(one, storage)));
      });
      void queue(async () => {
        for (const one of await stored) {
          // Skips a job that a read of the storage has already shown as stored.
          if (jobs.get(one.id)?.order === Infinity) show(one);
        }
        // Another tab may have read the storage before it contained all these jobs.
        announce();
      });
    },
    change: (job: Job, changes: Partial<Job>) =>
      queue(async (storage) => {
        const changed = await storage.update(
          orderOf(job),
          (stored) => isSameRequest(stored, job) ? { ...stored, ...changes } : undefined,
        );
        if (changed) {
          announce();
          show(changed);
        } else void sync();
        return changed;
      }),
    end: (job: Job, row: JobRow | null) =>
      queue(async (storage) => {
        await storage.remove(orderOf(job));
        announce([job, row]);
        show(job, row);
      }),
  };
}

/** Returns the stored job, or after a failure a discarded job. */
async function storeJob(job: Job, storage: JobStorage): Promise<Job> {
  const { order: _order, ...added } = job;
  try {
    return { ...job, order: await storage.add(added) };
  } catch (cause) {
    return discardedJob(job, "storage", `${cause}`);
  }
}
