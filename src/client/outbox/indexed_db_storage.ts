import type {
  IndexedDbDatabase,
  IndexedDbFactory,
  IndexedDbObjectStore,
  IndexedDbRequest,
} from "../../api/web_platform.ts";
import type { ClientEnvironment } from "../../api/client_environment.ts";
import type { Job, JobStorage } from "./job.ts";

/**
 * Creates a storage of jobs in an IndexedDB database. Rejects if the browser refuses the database,
 * for instance in private windows, or does not respond. The database stays open, so that `add`
 * starts to write immediately: the user can leave the page in the next millisecond.
 */
export async function indexedDbStorage(
  databases: IndexedDbFactory,
  name: string,
  { after }: Pick<ClientEnvironment, "after">,
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

  /** Runs one request and commits immediately, because leaving the page may abort a transaction. */
  const runOne = <T>(request: (store: IndexedDbObjectStore) => IndexedDbRequest<T>) =>
    run((store) => {
      const sent = request(store);
      store.transaction.commit();
      return () => sent.result;
    });

  return {
    isShared: true,
    // The cast is safe: only this file writes the database, whose generated keys are numbers.
    all: () => runOne((store) => store.getAll() as IndexedDbRequest<Job[]>),
    add: (job) => runOne((store) => store.add(job) as IndexedDbRequest<number>),
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
    remove: (order) => runOne((store) => store.delete(order)),
  };
}

/** How long the browser may take to open the database, in milliseconds. */
const maxOpeningMs = 10_000;
