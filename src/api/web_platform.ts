/**
 * Types of the web platform that not every runtime declares. The client uses these parts only if
 * they exist.
 */

/** Web Locks, `navigator.locks`. */
export interface WebLocks {
  /** Runs `work` with the held lock, or with null if `ifAvailable` is set and the lock is taken. */
  request<T>(
    name: string,
    options: WebLockOptions,
    work: (lock: unknown) => Promise<T> | T,
  ): Promise<T>;
}

/** The options of a request for a Web Lock. */
export interface WebLockOptions {
  mode?: "exclusive" | "shared";
  ifAvailable?: boolean;
  steal?: boolean;
  signal?: AbortSignal;
}

/** IndexedDB, the global `indexedDB`. */
export interface WebDatabases {
  open(name: string, version?: number): WebOpenRequest;
  deleteDatabase(name: string): WebOpenRequest;
}

/** A request to an IndexedDB database. */
export interface WebRequest<T> {
  readonly result: T;
  readonly error: Error | null;
  onsuccess: ((event: Event) => unknown) | null;
  onerror: ((event: Event) => unknown) | null;
}

/** The request that opens an IndexedDB database. */
export interface WebOpenRequest extends WebRequest<WebDatabase> {
  onupgradeneeded: ((event: never) => unknown) | null;
  onblocked: ((event: never) => unknown) | null;
}

/** An IndexedDB database. */
export interface WebDatabase {
  readonly objectStoreNames: { contains(name: string): boolean };
  onversionchange: ((event: never) => unknown) | null;
  onclose: ((event: Event) => unknown) | null;
  createObjectStore(
    name: string,
    options?: { keyPath?: string | string[] | null; autoIncrement?: boolean },
  ): WebObjectStore;
  transaction(
    stores: string | string[],
    mode?: "readonly" | "readwrite",
    options?: { durability?: "default" | "relaxed" | "strict" },
  ): WebTransaction;
  close(): void;
}

/** A transaction of an IndexedDB database. */
export interface WebTransaction {
  readonly error: Error | null;
  oncomplete: ((event: Event) => unknown) | null;
  onerror: ((event: Event) => unknown) | null;
  onabort: ((event: Event) => unknown) | null;
  objectStore(name: string): WebObjectStore;
  commit(): void;
  abort(): void;
}

/** An object store of an IndexedDB database. */
export interface WebObjectStore {
  readonly transaction: WebTransaction;
  get(key: WebKey): WebRequest<unknown>;
  getAll(): WebRequest<unknown[]>;
  add(value: unknown, key?: WebKey): WebRequest<unknown>;
  put(value: unknown, key?: WebKey): WebRequest<unknown>;
  delete(key: WebKey): WebRequest<undefined>;
  clear(): WebRequest<undefined>;
  count(): WebRequest<number>;
}

/** A key of an IndexedDB object store. */
export type WebKey = number | string | WebKey[];
