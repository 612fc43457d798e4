import type { IndexedDbFactory, WebLocks } from "../api/web_platform.ts";
import type { ClientEnvironment } from "../api/client_environment.ts";

/** Sends a request by the `fetch` of the runtime. */
export function browserFetch(request: Request): Promise<Response> {
  return fetch(request);
}

/** Returns the functions of this runtime. The browser APIs that it lacks are undefined. */
export function browserEnvironment(): ClientEnvironment {
  // Some runtimes lack some of these globals, although TypeScript declares all of them.
  const world = globalThis as unknown as Partial<BrowserGlobals>;
  const { document, navigator } = world;
  return {
    fetch: browserFetch,
    now: Date.now,
    after(ms, run) {
      const timer = setTimeout(run, ms);
      return () => clearTimeout(timer);
    },
    random: Math.random,
    // `crypto.randomUUID` exists only in secure contexts (HTTPS), so this function does not use it.
    randomId: () => crypto.getRandomValues(new Uint32Array(4)).join("-"),
    isOnline: () => navigator?.onLine ?? true,
    isHidden: () => !!document?.hidden,
    onWake(run) {
      const ending = new AbortController();
      // The event `visibilitychange` bubbles from the document to the window.
      for (const event of ["online", "pageshow", "visibilitychange"]) {
        world.addEventListener?.(event, run, ending);
      }
      return () => ending.abort();
    },
    locks: navigator?.locks,
    channel: (name) => world.BroadcastChannel && new world.BroadcastChannel(name),
    indexedDB: world.indexedDB,
  };
}

/** Writes a message for the developer to the console. */
export function reportMisuse(message: string): void {
  console.error(message);
}

interface BrowserGlobals {
  readonly document: { readonly hidden: boolean };
  readonly navigator: { readonly onLine?: boolean; readonly locks?: WebLocks };
  readonly indexedDB?: IndexedDbFactory;
  readonly BroadcastChannel: typeof BroadcastChannel;
  addEventListener(event: string, run: () => void, options: { signal: AbortSignal }): void;
}
