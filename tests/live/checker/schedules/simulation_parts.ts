import type { ChangeLog } from "../../../../src/db/changes/change_log.ts";
import { resolveChangesOptions } from "../../../../src/db/changes/changes_options.ts";
import { openChangeLog } from "../../../../src/db/changes/open_change_log.ts";
import { openDatabase } from "../../../../src/engines/open_database.ts";
import { type LiveLimits, liveLimits } from "../../../../src/live/live_limits.ts";
import type { Observation, Runtime } from "../../../../src/runtime/runtime.ts";
import { handClock } from "../../../db/hand_clock.ts";
import { run } from "../../../support/scratch.ts";
import { Chance } from "../chance.ts";
import type { Fault } from "./instance.ts";
import { Truth } from "./truth.ts";
import { createWorld, tables } from "./world.ts";
import type { Database } from "../../../../src/db/database.ts";

/** One run over a SQLite file in which nothing happens by itself: the same seeds, the same run. */
export interface SimulationOptions {
  readonly seed: number;
  /** Each is a separate seed, so that a run without some of them is still a run. */
  readonly steps: readonly number[];
  /** Where the file is made. */
  readonly folder: string;
  readonly fault?: Fault;
  /** Called with each step that is done. */
  trace?(line: string): void;
  /** Spoils the database itself. */
  spoil?(db: Database): Promise<void>;
}

/** What came of it. */
export interface Outcome {
  /** What was wrong first. */
  readonly failure: string | null;
  /** How many events were checked. */
  readonly events: number;
  /** How often every client was held against the list. */
  readonly comparisons: number;
}

/** Of two servers with little room for anything. */
export const crampedLimits: LiveLimits = {
  ...liveLimits,
  ringBuffer: { changes: 12, bytes: 100_000 },
  maxRowsPerPage: 3,
  maxConcurrentReads: 2,
  maxWaitingReads: 50,
  maxChangesAtOnce: 4,
  maxEventBytes: 300,
  maxUnreadBytes: 700,
};
/** In it every reader can keep up. */
export const wideLimits: LiveLimits = {
  ...liveLimits,
  maxRowsPerPage: 4,
  maxConcurrentReads: 3,
  maxUnreadBytes: 10_000_000,
};
/** Of the servers. */
export const limits = [crampedLimits, crampedLimits, wideLimits];

/** What a run is about. */
export interface SimulationParts {
  readonly url: string;
  readonly db: Database;
  readonly log: ChangeLog;
  readonly truth: Truth;
  readonly runtime: Runtime;
  readonly advance: (ms: number) => void;
  readonly observations: Observation[];
}

/** Makes the file and its tables. */
export async function beginParts({ folder, seed }: SimulationOptions): Promise<SimulationParts> {
  const url = `sqlite:${folder}/${seed}-${crypto.randomUUID()}.db`;
  const { clock, advance } = handClock();
  const chance = new Chance(seed);
  const observations: Observation[] = [];
  const runtime: Runtime = {
    clock,
    random: { bytes: (length) => Uint8Array.from({ length }, () => chance.below(256)) },
    observe: (observation) => observations.push(observation),
    environment: () => undefined,
  };
  const db = await openDatabase(url, { clock });
  await createWorld(db);
  const log = await openChangeLog({
    driver: db.driver,
    tables: Object.values(tables),
    changes: resolveChangesOptions(),
    runtime,
  });
  return { url, db, log, truth: await Truth.begin(log), runtime, advance, observations };
}

/** Everything up to some change is forgotten. */
export async function forgetSome(db: Database, chance: Chance): Promise<void> {
  const { rows: [row = []] } = await run(
    db,
    `SELECT coalesce(max(seq), 0) FROM "_service_changes"`,
  );
  const floor = Math.max(0, Number(row[0]) - chance.below(40));
  await db.driver.transaction(async (connection) => {
    const text = `UPDATE "_service_meta" SET value = f.value
        FROM (SELECT 'floor' AS name, ? AS value UNION ALL
          SELECT 'floor_mark', (SELECT mark FROM "_service_changes" WHERE seq = ?)) AS f
        WHERE "_service_meta".name = f.name
          AND EXISTS (SELECT 1 FROM "_service_changes" WHERE seq = ?)`;
    await connection.query({ text, values: [String(floor), floor, floor] });
    const forget = `DELETE FROM "_service_changes" WHERE seq <= ?`;
    await connection.query({ text: forget, values: [floor] });
  });
}

/** Lets whatever is ready run. */
export async function turns(count: number): Promise<void> {
  for (let turn = 0; turn < count; turn++) {
    await new Promise<void>((resolve) => setImmediate(resolve));
  }
}
