import type {
  WebDatabase,
  WebDatabases,
  WebObjectStore,
  WebRequest,
} from "../../api/web_platform.ts";
import type { Job, JobStorage } from "./job.ts";

/**
 * Keeps jobs in an IndexedDB database. Rejects if the browser refuses the database, for instance in
 * private windows. The database stays open, so that `add` starts the disk write in the same call.
 * The user may leave the page immediately after that.
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
        // An open database would block its own deletion or upgrade.
        opened.onclose = opened.onversionchange = () => {
          database = null;
          opened.close();
        };
        resolve(opened);
      };
    });
  }

  const begin = async () => (await (database ??= open())).transaction(name, "readwrite");

  /** Runs `work` in a transaction. After the commit, calls the function that `work` returned. */
  async function run<T>(work: (store: WebObjectStore) => () => T): Promise<T> {
    const transaction = await begin().catch(() => {
      // Safari closes the databases of hidden pages, sometimes without an event.
      database = null;
      return begin();
    });
    return new Promise((resolve, reject) => {
      transaction.onabort = () => reject(transaction.error);
      // Throws if the value cannot be stored.
      const result = work(transaction.objectStore(name));
      transaction.oncomplete = () => resolve(result());
    });
  }

  /** Runs one request with an explicit commit, because leaving the page could undo it otherwise. */
  const runOne = <T>(request: (store: WebObjectStore) => WebRequest<T>) =>
    run((store) => {
      const sent = request(store);
      store.transaction.commit();
      return () => sent.result;
    });

  return {
    isShared: true,
    // Only this file writes to the database, and the generated key is a number.
    all: () => runOne((store) => store.getAll() as WebRequest<Job[]>),
    add: (job) => runOne((store) => store.add(job) as WebRequest<number>),
    update: (order, change) =>
      run((store) => {
        // Only this file writes to the database.
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
