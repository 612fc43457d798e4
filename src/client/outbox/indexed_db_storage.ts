import type {
  WebDatabase,
  WebDatabases,
  WebObjectStore,
  WebRequest,
} from "../../api/web_platform.ts";
import type { Job, JobStorage } from "./job.ts";

/**
 * Keeps jobs in a database of IndexedDB; rejects where the browser refuses that, as in some private
 * windows. The database stays open, so that a job is on its way to the disk once `add` was called:
 * the user may leave the page in the next millisecond.
 */
export async function indexedDbStorage(databases: WebDatabases, name: string): Promise<JobStorage> {
  let database: Promise<WebDatabase> | null = open();
  await database;

  function open(): Promise<WebDatabase> {
    return new Promise((resolve, reject) => {
      const opening = databases.open(name);
      opening.onerror = () => reject(opening.error);
      opening.onupgradeneeded = () =>
        opening.result.createObjectStore(name, { keyPath: "order", autoIncrement: true });
      opening.onsuccess = () => {
        const opened = opening.result;
        // An open database would block its own removal.
        opened.onclose = opened.onversionchange = () => {
          database = null;
          opened.close();
        };
        resolve(opened);
      };
    });
  }

  const begin = async () => (await (database ??= open())).transaction(name, "readwrite");

  /** What `work` returns gives the result once the transaction is complete. */
  async function run<T>(work: (store: WebObjectStore) => () => T): Promise<T> {
    const transaction = await begin().catch(() => {
      // Safari closes the databases of hidden pages, and does not always say so.
      database = null;
      return begin();
    });
    return new Promise((resolve, reject) => {
      transaction.onabort = () => reject(transaction.error);
      // Throws for what cannot be stored.
      const result = work(transaction.objectStore(name));
      transaction.oncomplete = () => resolve(result());
    });
  }

  /** As {@link run}, for a single request. A browser may undo what has no commit yet on leaving. */
  const runOne = <T>(request: (store: WebObjectStore) => WebRequest<T>) =>
    run((store) => {
      const sent = request(store);
      store.transaction.commit();
      return () => sent.result;
    });

  return {
    isShared: true,
    // Only this file writes to the database, and the key that it generates is a number.
    all: () => runOne((store) => store.getAll() as WebRequest<Job[]>),
    add: (job) => runOne((store) => store.add(job) as WebRequest<number>),
    update: (order, change) =>
      run((store) => {
        // As above.
        const stored = store.get(order) as WebRequest<Job | undefined>;
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
