/** Types of web APIs that not every runtime declares. The client uses an API only if it exists. */

export interface WebLocks {
  request<T>(
    name: string,
    options: WebLockOptions,
    work: (lock: unknown) => Promise<T> | T,
  ): Promise<T>;
}

export interface WebLockOptions {
  signal?: AbortSignal;
}

export interface IndexedDbFactory {
  open(name: string, version?: number): IndexedDbOpenRequest;
}

export interface IndexedDbRequest<T> {
  readonly result: T;
  readonly error: Error | null;
  onsuccess: ((event: Event) => unknown) | null;
  onerror: ((event: Event) => unknown) | null;
}

export interface IndexedDbOpenRequest extends IndexedDbRequest<IndexedDbDatabase> {
  onupgradeneeded: ((event: never) => unknown) | null;
}

export interface IndexedDbDatabase {
  onversionchange: ((event: never) => unknown) | null;
  onclose: ((event: Event) => unknown) | null;
  createObjectStore(
    name: string,
    options?: { keyPath?: string | string[] | null; autoIncrement?: boolean },
  ): IndexedDbObjectStore;
  transaction(
    stores: string | string[],
    mode?: "readonly" | "readwrite",
    options?: { durability?: "default" | "relaxed" | "strict" },
  ): IndexedDbTransaction;
  close(): void;
}

export interface IndexedDbTransaction {
  readonly error: Error | null;
  oncomplete: ((event: Event) => unknown) | null;
  onabort: ((event: Event) => unknown) | null;
  objectStore(name: string): IndexedDbObjectStore;
  commit(): void;
}

export interface IndexedDbObjectStore {
  readonly transaction: IndexedDbTransaction;
  get(key: IndexedDbKey): IndexedDbRequest<unknown>;
  getAll(): IndexedDbRequest<unknown[]>;
  add(value: unknown, key?: IndexedDbKey): IndexedDbRequest<unknown>;
  put(value: unknown, key?: IndexedDbKey): IndexedDbRequest<unknown>;
  delete(key: IndexedDbKey): IndexedDbRequest<undefined>;
}

export type IndexedDbKey = number | string | IndexedDbKey[];
