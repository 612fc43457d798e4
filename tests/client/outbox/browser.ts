import { IDBFactory } from "fake-indexeddb";
import { browserEnvironment } from "../../../src/client/environment.ts";
import type { IndexedDbFactory } from "../../../src/api/web_platform.ts";
import type { ClientEnvironment } from "../../../src/api/client_environment.ts";

/** A database like a browser's. */
export function createIndexedDb(): IndexedDbFactory {
  // The package declares the types of a browser in full, of which these are a part.
  return new IDBFactory() as unknown as IndexedDbFactory;
}

/** What the tabs of a browser share: a database, the locks and channels of this runtime. */
export function createBrowser(): Partial<ClientEnvironment> {
  const { locks, channel } = browserEnvironment();
  return { locks, channel, indexedDB: createIndexedDb() };
}
