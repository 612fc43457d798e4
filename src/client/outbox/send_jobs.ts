import { ServiceError } from "../request/service_error.ts";
import { afterRefusal, type ConflictOptions } from "./conflict.ts";
import { type Job, laneOf, refusedJob } from "./job.ts";
import type { JobBook } from "./job_book.ts";
import type { KnownJobs } from "./job_view.ts";
import { isRefusal, sendJob } from "./send_job.ts";
import type { ClientEnvironment } from "../../api/client_environment.ts";
import type { Bearer } from "../../api/transport.ts";

/** The options for sending jobs. */
export interface SendJobsOptions extends ConflictOptions, KnownJobs {
  readonly book: JobBook;
  readonly maxAgeMs: number;
  readonly tokens: JobTokens;
}

/** The tokens of the jobs that must not be sent with another token, by job id. */
export type JobTokens = Map<string, Promise<Bearer>>;

/** A pause of all jobs, of the jobs of one row, or of a resource with a rate limit. */
interface Pause {
  readonly isLimit: boolean;
  failures: number;
  until: number;
}

/**
 * Sends the jobs of one row one after the other, and the jobs of up to four rows at the same time,
 * until the signal is aborted. A dead job blocks the later jobs of its row. Returns a function that
 * ends all pauses except those of rate limits.
 */
export function sendJobs(options: SendJobsOptions): () => void {
  const { transport, signal, created, book } = options;
  const { now, after, isOnline } = transport.environment;
  const busy = new Set<string>();
  const pauses = new Map<string, Pause>();
  let sending = 0;
  let cancel = () => {};

  const endOf = (scope: string) => pauses.get(scope)?.until ?? 0;

  function run(): void {
    cancel();
    if (signal.aborted || !isOnline()) return;
    const lanes = new Set(busy);
    let wakeAt = Infinity;
    for (const job of book.get().jobs) {
      const lane = laneOf(job, created);
      if (!lanes.has(lane) && job.state === "waiting" && job.order < Infinity) {
        const until = Math.max(endOf(lane), endOf(job.resource), endOf(""));
        if (until > now()) wakeAt = Math.min(wakeAt, until);
        else if (sending < 4) void attempt(job, lane);
      }
      lanes.add(lane);
    }
    if (wakeAt < Infinity) cancel = after(wakeAt - now(), run);
  }

  async function attempt(job: Job, lane: string): Promise<void> {
    let path = lane;
    busy.add(lane);
    sending++;
    try {
      const token = await tokenOf(job, options);
      const prepared = await book.prepare(job);
      if (prepared !== undefined) {
        const [sent, row] = await sendJob(job = prepared, transport, signal, token);
        // Jobs that waited for a new row continue at the path of the row, where jobs that another
        // page prepared may already be running.
        if (!busy.has(sent.path)) busy.add(path = sent.path);
        await book.end(sent, row);
        for (const scope of [lane, job.resource, ""]) {
          if (endOf(scope) <= now()) pauses.delete(scope);
        }
      }
      sending--;
    } catch (error) {
      sending--;
      try {
        if (!isRefusal(error)) throw error;
        await refuse(job, error, options);
      } catch (cause) {
        pauseAfter(cause, { job, lane, pauses }, transport.environment);
      }
    }
    busy.delete(lane);
    busy.delete(path);
    run();
  }

  /** Handles a failed job. Never rejects. If the handling also fails, the job is sent again. */
  signal.addEventListener("abort", run);
  book.subscribe(run);
  return () => {
    for (const pause of pauses.values()) if (!pause.isLimit) pause.until = 0;
    run();
  };
}

async function refuse(job: Job, error: ServiceError, options: SendJobsOptions): Promise<void> {
  const { book, signal } = options;
  // The next user of the page must not see the write either.
  if (error.slug === "discarded") {
    return await book.end(refusedJob(job, error, error.slug));
  }
  const changed = await afterRefusal(job, error, options);
  if (!signal.aborted) await book.change(job, changed);
}

/**
 * Returns the only token that may send a job, or undefined for any token. Throws if the job must
 * not be sent any more.
 */
async function tokenOf(
  { id, createdAt }: Job,
  { tokens, transport, maxAgeMs }: SendJobsOptions,
): Promise<Bearer | undefined> {
  const token = await tokens.get(id);
  const isOfOther = token && token.value !== (await transport.tokens.current()).value;
  const slug = isOfOther ? "discarded" : "expired";
  if (isOfOther || transport.environment.now() - createdAt > maxAgeMs) {
    throw new ServiceError(slug, slug);
  }
  return token;
}

/**
 * Pauses the jobs that a failure concerns. A failure that is not a response, such as a storage
 * error, concerns the jobs of the row. The delay has full jitter, grows exponentially, and is at
 * least the delay that the service requested.
 */
function pauseAfter(
  cause: unknown,
  { job, lane, pauses }: { job: Job; lane: string; pauses: Map<string, Pause> },
  { now, random }: ClientEnvironment,
): void {
  // Any other thrown value has none of these members.
  const { status, slug, retryAfterMs } = Object(cause) as Partial<ServiceError>;
  const isLimit = status === 429;
  const scope = isLimit ? job.resource : slug === "network" || status === 401 ? "" : lane;
  const pause = pauses.get(scope) ?? { isLimit, failures: 0, until: 0 };
  pauses.set(scope, pause);
  // Requests that fail at the same time count once.
  if (pause.until <= now()) pause.failures++;
  const ms = Math.max(retryAfterMs ?? 0, random() * Math.min(30_000, 500 * 2 ** pause.failures));
  pause.until = Math.max(pause.until, now() + ms);
}
