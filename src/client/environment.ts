import type { WebDatabases, WebLocks } from "../api/web_platform.ts";
import type { ClientEnvironment } from "../api/client_environment.ts";

/** The environment of a browser, Deno, Node or Bun. Parts that are missing are undefined. */
export function browserEnvironment(): ClientEnvironment {
  // Each global may be missing, whatever the types of one runtime say.
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
      // It has the signal that ends listening.
      const ending = new AbortController();
      // The last one bubbles from the document.
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

/** The globals of a browser that the client uses, some of which every other runtime lacks. */
interface BrowserGlobals {
  readonly document: { readonly hidden: boolean };
  readonly navigator: { readonly onLine?: boolean; readonly locks?: WebLocks };
  readonly indexedDB?: WebDatabases;
  readonly BroadcastChannel: typeof BroadcastChannel;
  addEventListener(event: string, run: () => void, options: { signal: AbortSignal }): void;
}

/** A version 4 UUID. A page that is not served over HTTPS has no `crypto.randomUUID`. */
function randomUuid(): string {
  return "10000000-1000-4000-8000-100000000000".replace(
    /[018]/g,
    (digit: unknown) =>
      // To an operator a digit, and a list of one number, are that number.
      ((digit as number) ^
        (crypto.getRandomValues(new Uint8Array(1)) as unknown as number) &
          15 >> (digit as number) / 4)
        .toString(16),
  );
}
