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
  uuid(): string;
  /** False only where the runtime knows that there is no network. */
  isOnline(): boolean;
  /** Whether the page is in the background; false where there is no page. */
  isHidden(): boolean;
  /** Calls `run` when the network or the page comes back; returns a function that stops it. */
  onWake(run: () => void): () => void;
  /** Web Locks; null where they are missing. */
  readonly locks: WebLocks | null;
  /** Opens a channel between the tabs of an origin; null where there are none. */
  channel(name: string): BroadcastChannel | null;
  /** IndexedDB; null where it is missing, or refused as in some private windows. */
  readonly indexedDB: WebDatabases | null;
}

/** The environment of a browser, Deno, Node or Bun. Parts that are missing are null. */
export function browserEnvironment(): ClientEnvironment {
  // Each global may be missing, whatever the types of one runtime say.
  const world = globalThis as unknown as Partial<BrowserGlobals>;
  const { document, navigator } = world;
  return {
    fetch: (request) => fetch(request),
    now: () => Date.now(),
    after(ms, run) {
      const timer = setTimeout(run, ms);
      return () => clearTimeout(timer);
    },
    random: () => Math.random(),
    uuid: randomUuid,
    isOnline: () => navigator?.onLine !== false,
    isHidden: () => document?.visibilityState === "hidden",
    onWake(run) {
      const wakers = [[world, "online"], [world, "pageshow"], [
        document,
        "visibilitychange",
      ]] as const;
      for (const [target, event] of wakers) target?.addEventListener?.(event, run);
      return () => {
        for (const [target, event] of wakers) target?.removeEventListener?.(event, run);
      };
    },
    locks: navigator?.locks ?? null,
    channel: (name) => world.BroadcastChannel ? new world.BroadcastChannel(name) : null,
    indexedDB: databasesOf(world),
  };
}

/** The globals of a browser that the client uses, some of which every other runtime lacks. */
interface BrowserGlobals extends Listening {
  readonly document: Listening & { readonly visibilityState: string };
  readonly navigator: { readonly onLine?: boolean; readonly locks?: WebLocks };
  readonly indexedDB: WebDatabases;
  readonly BroadcastChannel: typeof BroadcastChannel;
}

interface Listening {
  addEventListener(event: string, run: () => void): void;
  removeEventListener(event: string, run: () => void): void;
}

/** In a page that is not served over HTTPS `crypto.randomUUID` is missing. */
function randomUuid(): string {
  if (crypto.randomUUID !== undefined) return crypto.randomUUID();
  const bytes = crypto.getRandomValues(new Uint8Array(16));
  const hex = Array.from(bytes, (byte) => byte.toString(16).padStart(2, "0")).join("");
  return hex.replace(
    /^(.{8})(.{4}).(.{3}).(.{3})(.{12})$/,
    "$1-$2-4$3-a$4-$5",
  );
}

function databasesOf(world: Partial<BrowserGlobals>): WebDatabases | null {
  try {
    return world.indexedDB ?? null;
  } catch {
    // A page without an origin of its own may not even look: by contract that is as if it were missing.
    return null;
  }
}
