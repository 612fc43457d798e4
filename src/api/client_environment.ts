import type { IndexedDbFactory, WebLocks } from "./web_platform.ts";

/** The part of a client's environment that requests need. */
export interface RequestEnvironment {
  /** Sends a request: the runtime's `fetch`, or the `fetch` of an app in the same process. */
  readonly fetch: (request: Request) => Response | Promise<Response>;
  /** Returns the current time, in milliseconds since 1970. */
  now(): number;
  /** Calls `run` once after `ms` milliseconds. Returns a function that cancels the call. */
  after(ms: number, run: () => void): () => void;
  /** Returns a random number that is at least 0 and less than 1. */
  random(): number;
  /** Returns a random string that no other call returns, on any device. */
  randomId(): string;
}

/** The part of a client's environment that live lists need. */
export interface PageEnvironment extends RequestEnvironment {
  /** Returns false only if the runtime knows that there is no network. */
  isOnline(): boolean;
  /** Returns true if the page is in the background. Returns false in a runtime without pages. */
  isHidden(): boolean;
  /** Calls `run` if the page becomes visible or the network returns. Returns a stop function. */
  onWake(run: () => void): () => void;
}

/** A client's environment: requests, time, random numbers and browser APIs. Tests replace it. */
export interface ClientEnvironment extends PageEnvironment {
  /** Web Locks, or null or undefined if the runtime has none. */
  readonly locks: WebLocks | null | undefined;
  /** Opens a channel between an origin's tabs. Returns null or undefined if this is unsupported. */
  channel(name: string): BroadcastChannel | null | undefined;
  /** IndexedDB, or null or undefined if it is missing or denied, as in some private windows. */
  readonly indexedDB: IndexedDbFactory | null | undefined;
}
