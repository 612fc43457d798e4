import type {
  IndexedDbDatabase,
  IndexedDbFactory,
  IndexedDbObjectStore,
  IndexedDbRequest,
} from "../../api/web_platform.ts";
import type { ClientEnvironment } from "../../api/client_environment.ts";
import type { Job, JobStorage, NewJob } from "./job.ts";

/**
 * Opens the outbox's database. Rejects if the browser refuses it, as in private windows, or does
 * not respond. The database stays open, so that `add` can write before the user leaves the page.
 */
export async function indexedDbStorage(
  databases: IndexedDbFactory,
  name: string,
  { after, onWake }: Pick<ClientEnvironment, "after" | "onWake">,
): Promise<JobStorage> {
  let database: Promise<IndexedDbDatabase> | null = open();
  await database;

  function open(): Promise<IndexedDbDatabase> {
    return new Promise((resolve, reject) => {
      const opening = databases.open(name);
      const cancel = after(maxOpeningMs, () => reject("timeout"));
      opening.onerror = () => reject(opening.error);
      opening.onupgradeneeded = () =>
        opening.result.createObjectStore(name, { keyPath: "order", autoIncrement: true });
      opening.onsuccess = () => {
        cancel();
        const opened = opening.result;
        // The browser deletes the database only after this connection has closed.
        opened.onclose = opened.onversionchange = () => {
          database = null;
          opened.close();
        };
        resolve(opened);
      };
    });
  }

  const begin = async () => (await (database ??= open())).transaction(name, "readwrite");

  async function run<T>(work: (store: IndexedDbObjectStore) => () => T): Promise<T> {
    const transaction = await begin().catch(() => {
      // Opens the database again: Safari can close a hidden page's database without an event.
      database = null;
      return begin();
    });
    return new Promise((resolve, reject) => {
      transaction.onabort = () => reject(transaction.error);
      // If the value cannot be stored, `work` throws, and the promise rejects.
      const result = work(transaction.objectStore(name));
      transaction.oncomplete = () => resolve(result());
    });
  }

  /** Runs requests and commits immediately, because leaving the page may abort a transaction. */
  const runAll = <T>(requests: (store: IndexedDbObjectStore) => readonly IndexedDbRequest<T>[]) =>
    run((store) => {
      const sent = requests(store);
      store.transaction.commit();
      return () => sent.map(({ result }) => result);
    });

  return {
    isShared: true,
    // The casts are safe: only this file writes the database, and there is one result.
    all: () =>
      runAll((store) => [store.getAll() as IndexedDbRequest<Job[]>]).then(([jobs]) => jobs!),
    add: jobAdder((jobs) =>
      // The cast is safe: the keys that the database generates are numbers.
      runAll((store) => jobs.map((job) => store.add(job) as IndexedDbRequest<number>)), onWake),
    update: (order, change) =>
      run((store) => {
        // The cast is safe: only this file writes to the database.
        const stored = store.get(order) as IndexedDbRequest<Job | undefined>;
        let changed: Job | undefined;
        stored.onsuccess = () => {
          changed = stored.result && change(stored.result);
          if (changed) store.put(changed);
        };
        return () => changed;
      }),
    remove: (order) => runAll((store) => [store.delete(order)]),
  };
}

/** Returns a function that stores many jobs in one transaction, because transactions are slow. */
function jobAdder(
  store: (jobs: readonly NewJob[]) => Promise<readonly number[]>,
  onWake: ClientEnvironment["onWake"],
): JobStorage["add"] {
  const adding: (readonly [job: NewJob, resolve: (order: Promise<number>) => void])[] = [];

  function storeSome(count: number): Promise<unknown> {
    const some = adding.splice(0, count);
    const stored = store(some.map(([job]) => job));
    some.forEach(([, resolve], index) => resolve(stored.then((orders) => orders[index]!)));
    return stored.catch(() => {});
  }

  /** Stores the added jobs, 100 at a time, so that the page can react between transactions. */
  async function storeAdded(): Promise<void> {
    // Before the user leaves the page, all remaining jobs are stored at the same time.
    const stop = onWake(() => void storeSome(Infinity));
    await null;
    do await storeSome(100); while (adding.length);
    stop();
  }

  return (job) =>
    new Promise((resolve) => {
      if (adding.push([job, resolve]) < 2) void storeAdded();
    });
}

/** How long the browser may take to open the database, in milliseconds. */
const maxOpeningMs = 10_000;
