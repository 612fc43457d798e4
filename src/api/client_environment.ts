import type { WebDatabases, WebLocks } from "./web_platform.ts";

/**
 * What the client takes from its surroundings: requests, time, chance, and the parts of a browser
 * that other runtimes lack. A test puts its own in its place.
 */
export interface ClientEnvironment {
  /** Sends a request: the runtime's `fetch`, or the `fetch` of an app in the same process. */
  readonly fetch: (request: Request) => Response | Promise<Response>;
  /** Milliseconds since 1970. */
  now(): number;
  /** Runs something once after some milliseconds; returns a function that cancels it. */
  after(ms: number, run: () => void): () => void;
  /** From 0 up to, but not including 1. */
  random(): number;
  /** A random UUID. */
  uuid(): string;
  /** False only where the runtime knows that there is no network. */
  isOnline(): boolean;
  /** Returns true if the page is in the background; false where there is no page. */
  isHidden(): boolean;
  /** Calls `run` when the network or the page comes back; returns a function that stops it. */
  onWake(run: () => void): () => void;
  /** Web Locks; nothing where they are missing. */
  readonly locks: WebLocks | null | undefined;
  /** Opens a channel between the tabs of an origin; nothing where there are none. */
  channel(name: string): BroadcastChannel | null | undefined;
  /** IndexedDB; nothing where it is missing, or refused as in some private windows. */
  readonly indexedDB: WebDatabases | null | undefined;
}
