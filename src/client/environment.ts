import type { IndexedDbFactory, WebLocks } from "../api/web_platform.ts";
import type {
  ClientEnvironment,
  PageEnvironment,
  RequestEnvironment,
} from "../api/client_environment.ts";
import type { Transport } from "../api/transport.ts";

export function browserFetch(request: Request): Promise<Response> {
  return fetch(request);
}

export function requestEnvironment(): RequestEnvironment {
  return {
    fetch: browserFetch,
    now: Date.now,
    after(ms, run) {
      const timer = setTimeout(run, ms);
      return () => clearTimeout(timer);
    },
    random: Math.random,
    // Not `crypto.randomUUID`, which exists only in secure contexts (HTTPS).
    randomId: () => crypto.getRandomValues(new Uint32Array(4)).join("-"),
  };
}

/** Returns the functions of this runtime for the client. A missing browser API is undefined. */
export function browserEnvironment(): ClientEnvironment {
  return browserEnvironmentOf({ environment: requestEnvironment() });
}

export function pageEnvironmentOf(
  { environment }: Pick<Transport, "environment">,
): PageEnvironment {
  return {
    isOnline: () => world.navigator?.onLine !== false,
    isHidden: () => !!world.document?.hidden,
    onWake(run) {
      const ending = new AbortController();
      // The event `visibilitychange` of the document bubbles to the window.
      for (const event of ["online", "pageshow", "pagehide", "visibilitychange"]) {
        world.addEventListener?.(event, run, ending);
      }
      return () => ending.abort();
    },
    ...environment,
  };
}

export function browserEnvironmentOf(transport: Pick<Transport, "environment">): ClientEnvironment {
  return {
    locks: world.navigator?.locks,
    channel: (name) => world.BroadcastChannel && new world.BroadcastChannel(name),
    indexedDB: world.indexedDB,
    ...pageEnvironmentOf(transport),
  };
}

export function reportMisuse(message: string): void {
  console.error(message);
}

// A runtime can lack some of these globals, although TypeScript declares that all exist.
const world = globalThis as unknown as Partial<BrowserGlobals>;

interface BrowserGlobals {
  readonly document: { readonly hidden: boolean };
  readonly navigator: { readonly onLine?: boolean; readonly locks?: WebLocks };
  readonly indexedDB?: IndexedDbFactory;
  readonly BroadcastChannel: typeof BroadcastChannel;
  addEventListener(event: string, run: () => void, options: { signal: AbortSignal }): void;
}
