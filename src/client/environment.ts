import type { WebDatabases, WebLocks } from "../api/web_platform.ts";
import type { ClientEnvironment } from "../api/client_environment.ts";

/** Returns the environment of a browser, Deno, Node or Bun. Missing parts are undefined. */
export function browserEnvironment(): ClientEnvironment {
  // Each global may be missing in some runtime, although the types declare it.
  const world = globalThis as unknown as Partial<BrowserGlobals>;
  const { document, navigator } = world;
  return {
    fetch: (request) => fetch(request),
    now: Date.now,
    after(ms, run) {
      const timer = setTimeout(run, ms);
      return () => clearTimeout(timer);
    },
    random: Math.random,
    uuid: randomUuid,
    isOnline: () => navigator?.onLine ?? true,
    isHidden: () => !!document?.hidden,
    onWake(run) {
      // This object contains the signal that removes the listeners.
      const ending = new AbortController();
      // `visibilitychange` bubbles from the document to the window.
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

/** The browser globals that the client uses. Every other runtime lacks some of them. */
interface BrowserGlobals {
  readonly document: { readonly hidden: boolean };
  readonly navigator: { readonly onLine?: boolean; readonly locks?: WebLocks };
  readonly indexedDB?: WebDatabases;
  readonly BroadcastChannel: typeof BroadcastChannel;
  addEventListener(event: string, run: () => void, options: { signal: AbortSignal }): void;
}

/** Returns a version 4 UUID. `crypto.randomUUID` is missing on pages without HTTPS. */
function randomUuid(): string {
  return "10000000-1000-4000-8000-100000000000".replace(
    /[018]/g,
    (digit: unknown) =>
      // JavaScript's operators convert a digit, and a list of one number, to that number.
      ((digit as number) ^
        (crypto.getRandomValues(new Uint8Array(1)) as unknown as number) &
          15 >> (digit as number) / 4)
        .toString(16),
  );
}
