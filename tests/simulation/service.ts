import { type App, createApp } from "../../src/app/app.ts";
import type { Database } from "../../src/db/database.ts";
import { openDatabase } from "../../src/engines/open_database.ts";
import { type LiveLimits, liveLimits } from "../../src/live/live_limits.ts";
import type { Observation, Runtime } from "../../src/runtime/runtime.ts";
import { Chance } from "../live/checker/chance.ts";
import type { DenoKv } from "../../src/kv/deno_kv.ts";
import { items, itemsConfig, orders, paid, projects } from "./items_config.ts";
import { Scheduler } from "./scheduler.ts";
import { SimulatedPostgres } from "./simulated_postgres.ts";
import { SimulatedKv } from "./simulated_kv.ts";
import { CommitHints, simulatedDriver } from "./simulated_driver.ts";

/** The budget of each user, who pays a token for each row in `paid`. */
export const orderBudget = { capacity: 2, refillPerMinute: 0 };

/** Two simulated processes with one database. */
export interface SimulatedService {
  readonly scheduler: Scheduler;
  /** The database without seams. */
  readonly base: Database;
  /** The database as another program uses it, with seams. */
  readonly outside: Database;
  readonly apps: readonly App[];
  /** Where the responses of requests with an idempotency key are stored. */
  readonly storage: "kv" | "db";
  readonly observations: Observation[];
  close(): Promise<void>;
}

const processCount = 2;

/** Opens the processes. `seed` decides their limits and their random bytes. */
export async function openService(seed: number, url: string | null): Promise<SimulatedService> {
  const scheduler = new Scheduler();
  const chance = new Chance(seed);
  const usual = { ...liveLimits };
  Object.assign(liveLimits, smallLimits(chance));
  const observations: Observation[] = [];
  const runtime: Runtime = {
    clock: scheduler.clock,
    random: { bytes: (length) => Uint8Array.from({ length }, () => chance.below(256)) },
    environment: () => undefined,
    observe: (observation) => void observations.push(observation),
  };
  const server = url === null ? null : await SimulatedPostgres.open(url, scheduler);
  const base = await openDatabase(url ?? "sqlite::memory:", { clock: scheduler.clock });
  if (url !== null) {
    // The service before this one has left its tables and its change log.
    for (const text of ["DROP SCHEMA public CASCADE", "CREATE SCHEMA public"]) {
      await base.query({ text, values: [] });
    }
  }
  await base.createTables([projects, items, orders, paid]);
  const kv = new SimulatedKv(scheduler);
  const storage = chance.pick(["kv", "db"] as const);
  const open = async (name: string) => {
    const process = { name, hints: new CommitHints(scheduler) };
    return await openDatabase(
      server === null
        ? simulatedDriver(base.driver, scheduler, process)
        : await server.openDriver(process),
    );
  };
  const apps: App[] = [];
  while (apps.length < processCount) {
    const name = `app ${apps.length}`;
    const app = await openApp({ db: await open(name), kv: kv.open(name), storage, runtime });
    await warmUp(app);
    apps.push(app);
  }
  const outside = await open("outside");
  return {
    ...{ scheduler, base, outside },
    ...{ apps, storage, observations },
    async close() {
      for (const app of apps) await app.close();
      await outside.close();
      await base.close();
      await server?.close();
      Object.assign(liveLimits, usual);
    },
  };
}

interface ProcessOptions {
  readonly db: Database;
  readonly kv: DenoKv;
  readonly storage: "kv" | "db";
  readonly runtime: Runtime;
}

function openApp({ db, kv, storage, runtime }: ProcessOptions): Promise<App> {
  return createApp({
    ...{ db, kv, runtime },
    ...itemsConfig(orderBudget.capacity),
    idempotency: { storage },
  });
}

/** Limits that a few rows and changes already reach. */
function smallLimits(chance: Chance): Partial<LiveLimits> {
  return {
    maxHeldRows: chance.pick([0, 2, 10_000]),
    maxRowsPerPage: chance.pick([1, 2, 500]),
    maxChangesAtOnce: chance.pick([1, 3, 500]),
    maxUnreadBytes: chance.pick([1, 300, 64 * 1024]),
    maxEventBytes: chance.pick([300, 1024 * 1024]),
    ringBuffer: chance.pick([
      { changes: 2, bytes: 1_000_000 },
      { changes: 8, bytes: 1_000_000 },
      { changes: 20_000, bytes: 1_000_000 },
    ]),
  };
}

/** Loads the modules that requests load when they first need them: loading takes real time. */
async function warmUp(app: App): Promise<void> {
  const send = async (method: string, path: string, body?: unknown, more = {}) => {
    const headers = { "x-user": "root", "content-type": "application/json", ...more };
    const request = new Request(`http://test/api/${path}`, {
      method,
      headers,
      ...(body === undefined ? {} : { body: JSON.stringify(body) }),
    });
    const { status, body: stream } = await app.fetch(request);
    await stream?.cancel();
    if (status >= 300) throw new Error(`${method} ${path}: ${status}`);
  };
  await send("POST", "projects", { id: 1, ownerId: "ada" });
  await send("POST", "items", { id: 1, projectId: 1 });
  await send("PATCH", "items/1", { projectId: 1 });
  await send("PATCH", "items/1", { rank: 1 }, { "if-match": 'W/"2"' });
  await send("PATCH", "projects/1", { ownerId: "bob" });
  for (const query of ["", "include=project", "filter=rank>0", "filter=rank>0&include=project"]) {
    await send("GET", `items?${query}`);
    await send("GET", `items/subscribe?${query}`);
  }
  for (const path of ["orders", "paid", "orders"]) {
    await send("POST", path, { title: "a" }, { "idempotency-key": "a", "x-user": path });
  }
  await send("DELETE", "items/1");
  await send("DELETE", "projects/1");
}
