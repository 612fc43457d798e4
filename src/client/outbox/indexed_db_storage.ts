import type { WebDatabases, WebObjectStore, WebRequest } from "../web_platform.ts";
import type { Job, JobStorage } from "./job.ts";

/**
 * Keeps jobs in a database of IndexedDB. It is opened for each operation: Safari closes databases
 * of pages in the background, and an open one would block its own removal.
 */
export function indexedDbStorage(databases: WebDatabases, name: string): JobStorage {
  /** The result of a request, once its transaction is complete. */
  const run = <T>(work: (store: WebObjectStore) => WebRequest<T>): Promise<T> =>
    new Promise((resolve, reject) => {
      const opening = databases.open(name);
      opening.onerror = () => reject(opening.error);
      opening.onupgradeneeded = () =>
        opening.result.createObjectStore(name, { keyPath: "order", autoIncrement: true });
      opening.onsuccess = () => {
        const transaction = opening.result.transaction(name, "readwrite");
        // Takes effect after the transaction.
        opening.result.close();
        transaction.onabort = () => reject(transaction.error);
        try {
          const request = work(transaction.objectStore(name));
          transaction.oncomplete = () => resolve(request.result);
        } catch (error) {
          // What cannot be stored, as a function.
          reject(error);
        }
      };
    });

  return {
    isShared: true,
    // Only this file writes to the database, and the key that it generates is a number.
    all: () => run((store) => store.getAll() as WebRequest<Job[]>),
    add: (job) => run((store) => store.add(job) as WebRequest<number>),
    change: (job) =>
      run((store) => {
        const request = store.get(job.order);
        request.onsuccess = () => request.result && store.put(job);
        return request;
      }),
    remove: (order) => run((store) => store.delete(order)),
  };
}
