import { whenAborted } from "../when_aborted.ts";
import { overlaysOf } from "../overlays/overlays.ts";
import { handle, type HasHandle } from "../../api/handle.ts";
import type { Transport } from "../../api/transport.ts";
import type { IndexedDbFactory } from "../../api/web_platform.ts";
import { indexedDbStorage } from "./indexed_db_storage.ts";
import { discardedJob, type Job, type JobRow, reviveDeadJob } from "./job.ts";
import { createOutboxJobs } from "./outbox_jobs.ts";
import type { TabJobs } from "./job_view.ts";
import { memoryStorage } from "./memory_storage.ts";
import { newJob, type NewWrite, seenRow } from "./new_job.ts";
import type { Outbox, OutboxOptions, Write } from "./outbox.ts";
import { type JobTokens, sendJobs } from "./send_jobs.ts";

/**
 * Creates the outbox of one user in one client. Without `identity` the outbox stores nothing,
 * because the browser's next user could read stored writes.
 *
 * @example
 * ```ts ignore
 * const outbox = createOutbox(api, { identity: user.id });
 * const { done } = outbox.update(api.notes, 1, { title: "Buy green tea" });
 * await done; // resolves when the live lists show the row of the response
 * ```
 */
export function createOutbox(api: HasHandle, options: OutboxOptions): Outbox {
  // Programs without type checks may omit the options.
  if (!options) throw new TypeError("No outbox without identity");
  // The cast is safe if `Api` describes the service's rows. The compiler cannot check that.
  return openOutbox(api[handle].transport, options) as Outbox;
}

/** Without `identity`, each job keeps the token of its user, so another user cannot send it. */
function openOutbox(transport: Transport, options: OutboxOptions): Untyped {
  const { environment, environment: { indexedDB, locks } } = transport;
  const { identity, maxAgeMs = 82_800_000, onConflict, onDead } = options;
  const name = `outbox ${transport.baseUrl}${transport.basePath} ${identity}`;
  const isKept = identity && (options.storage ?? indexedDB);
  const storage = isKept ? options.storage : memoryStorage();
  // A browser may refuse its database, for instance in private windows.
  const opening = storage
    ? Promise.resolve(storage)
    // The cast is safe: without `storage`, `isKept` has found IndexedDB.
    : indexedDbStorage(indexedDB as IndexedDbFactory, name).catch(memoryStorage);
  const channel = storage?.isShared === false ? null : environment.channel(name);
  const overlays = overlaysOf(transport);
  const jobs = new Map<string, Job>();
  const known: TabJobs = { jobs, created: new Map(), sent: new Map(), overlays, onDead };
  const tokens: JobTokens = new Map();
  const ending = new AbortController();
  const { signal } = ending;
  const book = createOutboxJobs({ ...known, opening, channel, environment, signal });
  let wake = () => {};
  function drain(): Promise<void> {
    void book.sync().then(() => {
      wake = sendJobs({ ...known, transport, signal, book, tokens, maxAgeMs, onConflict });
    });
    return whenAborted(signal); // Closing does not wait for a storage that never responds.
  }
  function write(resource: HasHandle, wanted: NewWrite): Write<JobRow> {
    const job = newJob(wanted, resource[handle], known);
    if (!identity) tokens.set(job.id, transport.tokens.current().catch(() => ({})));
    book.add(job);
    return { id: job.id, done: book.wait(job.id) };
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
  const change = (kind: NewWrite["kind"]): UntypedChange => (resource, target, body, base) =>
    write(resource, { kind, target, body, ...base });
  return {
    get: book.get,
    subscribe: book.subscribe,
    create: (resource, body) => change("create")(resource, null, body),
    update: change("update"),
    replace: change("replace"),
    delete: (resource, target, base) => change("delete")(resource, target, null, base),
    async revive(id, body) {
      const job = jobs.get(id);
      if (job?.state === "dead") {
        await book.change(
          job,
          reviveDeadJob(job, seenRow(job, overlays), body ?? job.body, environment),
        );
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

/** The outbox without the types of a service's resources. */
interface Untyped extends Pick<Outbox, "get" | "subscribe" | "revive" | "discard" | "close"> {
  create(resource: HasHandle, body: JobRow): Write<JobRow>;
  readonly update: UntypedChange;
  readonly replace: UntypedChange;
  delete(resource: HasHandle, target: Target, base?: Base): Write<JobRow>;
}
