import { type App, createApp } from "../../../../src/app/app.ts";
import { openDatabase } from "../../../../src/engines/open_database.ts";
import type { Observation, Runtime } from "../../../../src/runtime/runtime.ts";
import { handClock } from "../../../db/hand_clock.ts";
import { Chance } from "../chance.ts";
import type { ResourceDefinition } from "../../../../src/resource/define/resource_definition.ts";
import type { WorldOptions } from "./options.ts";
import { type LiveLimits, liveLimits } from "../../../../src/live/live_limits.ts";
import { definitions } from "./rights.ts";
import type { Database } from "../../../../src/db/database.ts";
import type { Connection, ReadLimits } from "../../../../src/db/driver.ts";
import { macroturns, moment } from "./turns.ts";

/** What is put in the place of a sound part, to see whether the checker finds out. */
export interface Sabotage {
  /** Spoils the database, once the services have set it up. */
  spoil?(db: Database): Promise<void>;
  /** Serves the tables otherwise than the rights say. */
  resources?(options: WorldOptions): readonly ResourceDefinition[];
  /** Makes what changes the text of a stream on its way. */
  wire?(): (text: string) => string;
  /** How long a rest waits for what does not come. */
  readonly busyTimeoutMs?: number;
}

/** The services over one database, with a time that is moved by hand. */
export interface Cast extends AsyncDisposable {
  readonly apps: readonly App[];
  readonly observations: readonly Observation[];
  /** Whether reads wait where they may; not at rest, where the time that is moved is limited. */
  delaysReads: boolean;
  advance(ms: number): void;
  elapsedMs(): number;
}

/** Services, each with its own handle. */
export async function startServices(
  url: string,
  { options, chance, sabotage }: {
    readonly options: WorldOptions;
    readonly chance: Chance;
    readonly sabotage: Sabotage;
  },
): Promise<Cast> {
  const { clock, advance } = handClock();
  const startedAt = Date.now();
  const observations: Observation[] = [];
  const runtime: Runtime = {
    clock: { ...clock, now: () => startedAt + clock.now() },
    random: { bytes: (length) => Uint8Array.from({ length }, () => chance.below(256)) },
    observe: (observation) => observations.push(observation),
    environment: () => undefined,
  };
  const usual = { ...liveLimits };
  Object.assign(liveLimits, limitsOf[options.memory]);
  const open = async () => {
    const db = await openDatabase(url);
    if (options.reads === "late") delayReads(db, options, () => cast.delaysReads);
    return await createApp({
      db,
      secret: "a secret for the tests only",
      runtime,
      changes: { mode: options.mode },
      subscribe: { maxPerUser: 1_000, maxPerAddress: 1_000 },
      auth: {
        middleware: async (context, next) => {
          const id = context.req.header("x-user");
          if (id !== undefined) context.set("user", { id });
          await next();
        },
      },
      resources: sabotage.resources?.(options) ?? definitions(options),
    });
  };
  const apps: App[] = [];
  const cast: Cast = {
    apps,
    observations,
    delaysReads: false,
    advance,
    elapsedMs: clock.elapsedMs,
    async [Symbol.asyncDispose]() {
      for (const app of apps) await app.close();
      Object.assign(liveLimits, usual);
    },
  };
  while (apps.length < options.services) apps.push(await open());
  return cast;
}

/** Lets reads wait before they begin: writes come between a look at the log and what it needs. */
function delayReads(
  { driver }: Database,
  { engine }: WorldOptions,
  isDue: () => boolean,
): void {
  const chance = new Chance(1);
  const reads = driver.reads.bind(driver);
  // Turns are the same in every run, but a server is far away.
  const turn = engine === "postgres" ? moment : () => macroturns(1);
  Object.defineProperty(driver, "reads", {
    value: (limits: ReadLimits): Connection => ({
      async query(statement) {
        for (let left = chance.pick([0, 0, 5, 40]); left > 0 && isDue(); left--) await turn();
        return await reads(limits).query(statement);
      },
    }),
  });
}

const little = {
  maxUnreadBytes: 400,
  maxChangesAtOnce: 20,
  ringBuffer: { changes: 40, bytes: 1_000_000 },
};

const limitsOf: Readonly<Record<WorldOptions["memory"], Partial<LiveLimits>>> = {
  all: {},
  few: { ...little, maxHeldRows: 3 },
  none: { ...little, maxHeldRows: 0 },
};

/** The handle of another program, which the services know nothing of. */
export function openOutside(url: string): Promise<Database> {
  return openDatabase(url);
}
