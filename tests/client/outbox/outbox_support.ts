import type { CreateClientOptions } from "../../../src/client/request/client_options.ts";
import { all, createApp, integer, openDatabase, resource, table, text } from "../../../mod.ts";
import { type Client, createClient } from "../../../exports/client.ts";
import { createOutbox } from "../../../src/client/outbox/create_outbox.ts";
import type { JobRow } from "../../../src/client/outbox/job.ts";
import type { Outbox, OutboxOptions } from "../../../src/client/outbox/outbox.ts";
import type { Overlay } from "../../../src/client/overlays/overlay.ts";
import { openListsOf, type ShownOverlays } from "../../../src/client/live/open_lists.ts";
import type { JobOverlays } from "../../../src/client/outbox/job_view.ts";
import { handle } from "../../../src/api/handle.ts";
import type { AppConfig } from "../../../src/app/config.ts";
import { run } from "../../support/scratch.ts";
import type { ClientEnvironment } from "../../../src/api/client_environment.ts";
import type { Database } from "../../../src/db/database.ts";

/** The table of the tests: `log` grows by one token with each write that was carried out. */
export const posts = table("posts", {
  id: integer().primaryKey(),
  title: text().notNull().default(""),
  log: text().notNull().default(""),
  version: integer().notNull().default(1),
});

/** Links have a composite key. */
export const links = table("links", {
  source: integer().primaryKey(),
  target: text().primaryKey(),
  note: text(),
  version: integer().notNull().default(1),
});

interface PostsApi {
  path: "/api/posts";
  key: number;
  row: { id: number; title: string; log: string; version: number };
  create: { id?: number; title?: string; log?: string };
  update: { title?: string; log?: string; links?: { connect?: readonly number[] } };
  relations: Record<never, never>;
  etag: true;
  procedures: Record<never, never>;
}

interface LinksApi {
  path: "/api/links";
  key: readonly [number, string];
  row: { source: number; target: string; note: string | null; version: number };
  create: { source: number; target: string; note?: string };
  update: { note?: string };
  relations: Record<never, never>;
  etag: true;
  procedures: Record<never, never>;
}

/** What the clients of the tests know. */
export interface Api {
  posts: PostsApi;
  links: LinksApi;
}

/** A row of the posts. */
export type Post = PostsApi["row"];

/** What happens to a request: it arrives or not, its answer arrives or not, or another comes instead. */
export type Fate = "arrives" | "lost" | "answer lost" | Response;

/** A service over SQLite, and the network to it. */
export interface Service {
  readonly db: Database;
  /** Decides what happens to the next requests. */
  fate: (request: Request) => Fate | Promise<Fate>;
  /** All requests that were sent, lost ones included. */
  readonly sent: Request[];
  readonly inFlight: number;
  fetch: (request: Request) => Promise<Response>;
  /** The rows of the posts by their ids. */
  posts(): Promise<readonly Post[]>;
}

/** Runs `work` over a service whose writes anyone with a name may do. */
export async function withService(
  work: (service: Service) => Promise<void>,
  config: Partial<AppConfig> = {},
): Promise<void> {
  const db = await openDatabase("sqlite::memory:");
  const auth = {
    public: true,
    create: () => all(),
    update: () => all(),
    delete: () => all(),
  } as const;
  await db.createTables([posts, links]);
  const app = await createApp({
    db,
    secret: "a secret for the tests only",
    auth: {
      middleware: async (context, next) => {
        context.set("user", { id: context.req.header("x-user") ?? "ada" });
        await next();
      },
    },
    idempotency: { storage: "db" },
    ...config,
    resources: [
      resource(posts, { id: posts.id, auth, etag: { versionField: posts.version } }),
      resource(links, { id: [links.source, links.target], auth, etag: {} }),
    ],
  });
  const sent: Request[] = [];
  let inFlight = 0;
  const service: Service = {
    db,
    sent,
    fate: () => "arrives",
    get inFlight() {
      return inFlight;
    },
    async fetch(request: Request): Promise<Response> {
      sent.push(request.clone());
      inFlight++;
      try {
        const fate = await service.fate(request);
        if (fate instanceof Response) return fate;
        if (fate === "lost") throw new TypeError("connection refused");
        const response = await app.fetch(request);
        if (fate === "arrives") return response;
        await response.body?.cancel();
        throw new TypeError("connection reset");
      } finally {
        inFlight--;
      }
    },
    async posts(): Promise<readonly Post[]> {
      const { rows } = await run(db, "SELECT id, title, log, version FROM posts ORDER BY id");
      return rows.map(([id, title, log, version]) => ({
        ...{ id: Number(id), title: String(title) },
        ...{ log: String(log), version: Number(version) },
      }));
    },
  };
  try {
    await work(service);
  } finally {
    await app.close();
    await db.close();
  }
}

/** A browser that lives on: what its pages share, and the hands of its clock. */
export interface Device {
  readonly environment: ClientEnvironment;
  isOnline: boolean;
  /** As when the network or the page comes back. */
  wake(): void;
  /** Moves the clock, and runs what is due. */
  advance(ms: number): void;
  /** Moves the clock to the next timer; false where there is none. */
  advanceToNext(): boolean;
}

/** A device whose clock stands still until it is moved; without tabs, unless they are given. */
export function createDevice(parts: Partial<ClientEnvironment> = {}): Device {
  let now = Date.UTC(2026, 0, 1);
  const timers = new Set<{ readonly at: number; readonly work: () => void }>();
  const wakers = new Set<() => void>();
  function advance(ms: number): void {
    now += ms;
    for (const timer of [...timers]) {
      if (timer.at > now || !timers.delete(timer)) continue;
      timer.work();
    }
  }
  const device: Device = {
    isOnline: true,
    environment: {
      fetch: () => Promise.reject(new TypeError("no network")),
      now: () => now,
      after(ms, work) {
        const timer = { at: now + ms, work };
        timers.add(timer);
        return () => void timers.delete(timer);
      },
      random: () => 0.5,
      randomId: () => crypto.randomUUID(),
      isOnline: () => device.isOnline,
      isHidden: () => false,
      onWake(work) {
        wakers.add(work);
        return () => void wakers.delete(work);
      },
      locks: null,
      channel: () => null,
      indexedDB: null,
      ...parts,
    },
    wake: () => wakers.forEach((work) => work()),
    advance,
    advanceToNext() {
      const next = Math.min(...[...timers].map(({ at }) => at));
      if (next === Infinity) return false;
      advance(next - now);
      return true;
    },
  };
  return device;
}

/** What live lists would show, as far as the tests need it. */
export interface Lists extends JobOverlays {
  readonly shown: ReadonlyMap<string, Overlay>;
  /** The ids of the rows that were created, by the ids of the overlays. */
  readonly created: Map<string, unknown>;
  /** The rows from the service, by their paths. */
  readonly rows: Map<string, JobRow>;
  /** While false, overlays stay until they are confirmed. */
  echoesAtOnce: boolean;
  /** As when the event of a write comes. */
  confirm(id: string): void;
}

/** Lists that record overlays, and whose rows the test sets. */
export function recordingLists(): Lists {
  const shown = new Map<string, Overlay>();
  const waiting = new Map<string, () => void>();
  return {
    ...{ shown, rows: new Map(), created: new Map(), echoesAtOnce: true },
    add(overlay) {
      shown.delete(overlay.id);
      shown.set(overlay.id, overlay);
    },
    acknowledge(id, row) {
      if (shown.get(id)?.kind === "create") this.created.set(id, row?.id);
      return new Promise((resolve) => {
        waiting.set(id, resolve);
        if (this.echoesAtOnce || !shown.has(id)) this.confirm(id);
      });
    },
    confirm(id) {
      shown.delete(id);
      waiting.get(id)?.();
    },
    reject: (id) => void shown.delete(id),
    rowOf(path, key) {
      return this.rows.get(`${path}/${JSON.parse(key).join(",")}`) ?? null;
    },
  };
}

/** A page with an outbox. */
export interface Page {
  readonly api: Client<Api>;
  readonly outbox: Outbox;
  readonly lists: Lists;
}

/** Opens a page on a device. */
export function openPage(
  service: Service,
  device: Device,
  options: Partial<OutboxOptions> = {},
  token?: CreateClientOptions["token"],
): Page {
  const { environment } = device;
  const fetch = (request: Request) => service.fetch(request);
  const api = createClient<Api>({ baseUrl: "http://localhost", environment, fetch, token });
  const lists = recordingLists();
  // The cast is safe: these pages have no live lists, which would call the missing functions.
  openListsOf(api[handle].transport).overlays = lists as unknown as ShownOverlays;
  return { api, lists, outbox: createOutbox(api, { identity: "ada", ...options }) };
}

/** Waits until no request is under way, and what follows from the answers is done. */
export async function calm(service: Service): Promise<void> {
  // Beside other tests, an answer is read in more turns of the event loop.
  for (let quiet = 0; quiet < 20; quiet++) {
    await new Promise((resolve) => setTimeout(resolve));
    if (service.inFlight > 0) quiet = 0;
  }
}
