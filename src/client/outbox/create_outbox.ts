import { browserEnvironmentOf, pageEnvironmentOf } from "../environment.ts";
import { whenAborted } from "../when_aborted.ts";
import { overlaysOf } from "../overlays/overlays.ts";
import { handle, type HasHandle } from "../../api/handle.ts";
import type { Bearer, Transport } from "../../api/transport.ts";
import type { IndexedDbFactory } from "../../api/web_platform.ts";
import { indexedDbStorage } from "./indexed_db_storage.ts";
import { discardedJob, type Job, type JobRow, laneOf, newJobRequest, refusedJob } from "./job.ts";
import { createOutboxJobs, type OutboxJobs } from "./outbox_jobs.ts";
import type { TabJobs } from "./job_view.ts";
import { memoryStorage } from "./memory_storage.ts";
import { newJob, type NewWrite, seenRow } from "./new_job.ts";
import type { Outbox, OutboxOptions, Write } from "./outbox.ts";
import { ServiceError } from "../request/service_error.ts";
import type { OnConflict } from "./resolve_conflict.ts";
import { isRefusal, readRow, sendJob } from "./send_job.ts";
import type { RequestEnvironment } from "../../api/client_environment.ts";

/**
 * Creates the outbox of one user in one client. With an empty `identity`, the outbox stores
 * nothing, because the browser's next user could read stored writes.
 *
 * @example
 * ```ts ignore
 * const outbox = createOutbox(api, { identity: user.id });
 * const { done } = outbox.update(api.notes, 1, { title: "Buy green tea" });
 * await done; // resolves when the live lists show the row of the response
 * ```
 */
export function createOutbox<Api = unknown>(
  api: HasHandle<Api>,
  options: OutboxOptions<NoInfer<Api>>,
): Outbox;
export function createOutbox(api: HasHandle, options: OutboxOptions): Untyped {
  // Programs without type checks may omit the options.
  if (!options) throw new TypeError("No outbox without identity");
  const { transport } = api[handle];
  const environment = browserEnvironmentOf(transport);
  const { indexedDB, locks } = environment;
  const { identity, maxAgeMs = 82_800_000 } = options;
  const name = `outbox ${transport.baseUrl}${transport.basePath} ${identity}`;
  const isKept = identity && (options.storage ?? indexedDB);
  const storage = isKept ? options.storage : memoryStorage();
  const overlays = overlaysOf(transport);
  const jobs = new Map<string, Job>();
  const tokens: JobTokens = new Map();
  const ending = new AbortController();
  const { signal } = ending;
  const known = {
    ...{ ...options, maxAgeMs, transport, signal, overlays, tokens },
    ...{ jobs, last: new Map(), created: new Map(), sent: new Map() },
  };
  const opening = storage
    ? Promise.resolve(storage)
    // The cast is safe: `isKept` is true here, so IndexedDB exists.
    : indexedDbStorage(indexedDB as IndexedDbFactory, name, environment)
      .catch((cause) => ({ ...memoryStorage(), error: new ServiceError("storage", `${cause}`) }));
  const channel = storage?.isShared === false ? null : environment.channel(name);
  const book = createOutboxJobs({ ...known, opening, channel, environment });
  let wake = () => {};
  function drain(): Promise<void> {
    void book.sync().then(() => wake = sendJobs({ ...known, book }));
    return whenAborted(signal); // Closing does not wait for a storage that never responds.
  }
  const stopWaking = environment.onWake(() => {
    wake();
    void book.sync();
  });
  void opening.then(({ isShared }) => {
    if (!isShared || !locks) return drain();
    void book.sync(); // A page without access to locks sends its own writes.
    return locks.request(name, { signal }, drain).catch(() => signal.aborted ? undefined : drain());
  });
  const change = (kind: NewWrite["kind"]): UntypedChange => (resource, target, body, base) => {
    const job = newJob({ kind, target, body, ...base }, resource[handle], known);
    // Without an identity, each job keeps its user's token, so that no other user sends the job.
    if (!identity) tokens.set(job.id, transport.tokens.current().catch(() => ({})));
    book.add(job);
    return { id: job.id, ...book.wait(job.id) };
  };
  return {
    ...{ get: book.get, subscribe: book.subscribe },
    create: (resource, body) => change("create")(resource, null, body),
    update: change("update"),
    replace: change("replace"),
    delete: (resource, target, base) => change("delete")(resource, target, null, base),
    async revive(id, body) {
      const job = jobs.get(id);
      if (job?.state === "dead") {
        const { reviveDeadJob } = await import("../rarely_needed.ts");
        const fresh = newJobRequest(environment);
        const revival = { seen: seenRow(job, overlays), body: body ?? job.body, fresh };
        await book.change(job, reviveDeadJob(job, revival));
      }
    },
    async discard(id) {
      for (const job of [...jobs.values()]) {
        if (job.id === id || job.of === id) await book.end(discardedJob(job));
      }
    },
    close() {
      ending.abort();
      stopWaking();
      channel?.close();
      for (const id of jobs.keys()) overlays.reject(id);
    },
  };
}

type Target = NewWrite["target"];
type Base = Pick<NewWrite, "base">;
type UntypedChange = (
  resource: HasHandle,
  target: Target,
  body: JobRow | null,
  base?: Base,
) => Write<JobRow>;

interface Untyped extends Pick<Outbox, "get" | "subscribe" | "revive" | "discard" | "close"> {
  create(resource: HasHandle, body: JobRow): Write<JobRow>;
  readonly update: UntypedChange;
  readonly replace: UntypedChange;
  delete(resource: HasHandle, target: Target, base?: Base): Write<JobRow>;
}

interface SendJobsOptions extends TabJobs {
  readonly transport: Transport;
  readonly signal: AbortSignal;
  readonly onConflict?: OnConflict | undefined;
  readonly book: OutboxJobs;
  readonly maxAgeMs: number;
  readonly tokens: JobTokens;
}

/** The token of the user who wrote each job, by job id. No job is sent with another token. */
type JobTokens = Map<string, Promise<Bearer>>;

interface Pause {
  readonly isLimit: boolean;
  failures: number;
  until: number;
}

/**
 * Sends the jobs of one row in sequence, and those of up to four rows at a time. A dead (refused)
 * job blocks later jobs of its row. Returns a function that ends all pauses except rate limits.
 */
function sendJobs(options: SendJobsOptions): () => void {
  const { transport, signal, created, book } = options;
  const { now, after, isOnline } = pageEnvironmentOf(transport);
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
        // Blocks later jobs of the created row, unless another job already blocks its path.
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

  signal.addEventListener("abort", run);
  book.subscribe(run);
  return () => {
    for (const pause of pauses.values()) if (!pause.isLimit) pause.until = 0;
    run();
  };
}

async function refuse(job: Job, error: ServiceError, options: SendJobsOptions): Promise<void> {
  const { book, signal, onConflict } = options;
  // Removes a discarded write, which the page's next user must not see.
  if (error.slug === "discarded") return await book.end(discardedJob(job));
  let changed = refusedJob(job, error);
  if (error.status === 412 && onConflict) {
    const { resolveConflict } = await import("../rarely_needed.ts");
    const tools = { ...options, onConflict, newJobRequest, isRefusal, readRow };
    changed = await resolveConflict(job, error, tools) ?? changed;
  }
  if (!signal.aborted) await book.change(job, changed);
}

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
 * Pauses the resource's jobs after a 429, all jobs after a 401 or without network, and otherwise
 * the row's jobs. The delay is random, up to a maximum that doubles, and at least `retryAfterMs`.
 */
function pauseAfter(
  cause: unknown,
  { job, lane, pauses }: { job: Job; lane: string; pauses: Map<string, Pause> },
  { now, random }: RequestEnvironment,
): void {
  // A thrown value that is no `ServiceError` has none of these members.
  const { status, slug, retryAfterMs } = Object(cause) as Partial<ServiceError>;
  const isLimit = status === 429;
  const scope = isLimit ? job.resource : slug === "network" || status === 401 ? "" : lane;
  const pause = pauses.get(scope) ?? { isLimit, failures: 0, until: 0 };
  pauses.set(scope, pause);
  // A request that fails during a pause began before it. Its failure is not counted again.
  if (pause.until <= now()) pause.failures++;
  const ms = Math.max(retryAfterMs ?? 0, random() * Math.min(30_000, 500 * 2 ** pause.failures));
  pause.until = Math.max(pause.until, now() + ms);
}
