/** Attacks a running service with faults, and compares what it did with what it promised. */
import { openDatabase } from "../../src/engines/open_database.ts";
import { Chance } from "../live/checker/chance.ts";
import { items, orders, paid, projects } from "../simulation/items_config.ts";
import { scratchFolder } from "../support/scratch.ts";
import { Requests } from "./clients.ts";
import type { Fault } from "./faults/fault.ts";
import { postgresFaults } from "./faults/postgres_faults.ts";
import { searchFaults } from "./faults/search_faults.ts";
import { serviceFaults } from "./faults/service_faults.ts";
import { sqliteFaults } from "./faults/sqlite_faults.ts";
import { missingClock, MovableClock } from "./movable_clock.ts";
import { missingNamespace, openNamespace } from "./namespace.ts";
import { FaultyProxy } from "../search/faulty_proxy.ts";
import { openSearchServer } from "../support/open_search.ts";
import { runRounds } from "./rounds.ts";
import { imported, notes } from "./service_config.ts";
import { mountSmallDisk, smallDisksAreMissing } from "./small_disk.ts";
import type { Outcomes } from "./writers.ts";
import { type Engine, type Place, PostgresPlace, SqlitePlace, startMembers } from "./world.ts";

export interface NemesisOptions {
  readonly engine: Engine;
  readonly seed: number;
  /** No round begins after this time. 0: each fault happens once, for a second at most. */
  readonly seconds: number;
  /** Names of faults, or parts of names. Default: all of the engine. */
  readonly faults?: readonly string[] | undefined;
  /** Default: `log` prints nothing. */
  log?(line: string): void;
  readonly stopping?: AbortSignal;
}

/** What happened to one kind of fault. */
export interface FaultCounts {
  count: number;
  /** The longest time from the end of the fault until every process served again. */
  recoveredMs: number;
  /** The longest time after that until each stream and list agreed. */
  agreedMs: number;
  wrong: number;
}

export interface NemesisOutcome {
  readonly faults: ReadonlyMap<string, FaultCounts>;
  readonly skipped: ReadonlyMap<string, string>;
  readonly outcomes: Outcomes;
  readonly rounds: number;
  readonly events: number;
  /** Acknowledged writes that an asynchronous standby had not received. */
  readonly lostByStandby: number;
  readonly slowestMs: number;
  readonly wrong: readonly string[];
}

export function faultsOf(engine: Engine, names?: readonly string[]): readonly Fault[] {
  const all = [...serviceFaults, ...searchFaults, ...postgresFaults, ...sqliteFaults];
  return all.filter((fault) =>
    fault.engines.includes(engine) &&
    (names === undefined || names.some((name) => fault.name.includes(name)))
  );
}

/**
 * Runs rounds of faults until the time is over. The seed decides the faults and the requests. Their
 * points in time also depend on the machine.
 */
export async function runNemesis(options: NemesisOptions): Promise<NemesisOutcome> {
  const { engine, seed, faults: names } = options;
  const all = faultsOf(engine, names);
  if (all.length === 0) throw new Error(`Cannot run the nemesis: no fault is named ${names}`);
  await using stack = new AsyncDisposableStack();
  const folder = stack.use(await scratchFolder());
  const isApart = engine === "postgres" && options.seconds > 0 && missingNamespace === null;
  const namespace = isApart ? stack.use(await openNamespace()) : null;
  const smallDisk = await smallDisksAreMissing() === null
    ? async () => stack.use(await mountSmallDisk()).path
    : null;
  const place = await openPlace(options, stack, isApart, smallDisk ?? (() => folder.path));
  const clock = missingClock === null ? new MovableClock(folder.path) : null;
  await createRows(place);
  const chance = new Chance(seed);
  const wrong: string[] = [];
  const requests = stack.use(new Requests((text) => wrong.push(text)));
  const server = all.some(({ needs }) => needs === "search") ? await openSearchServer() : null;
  const address = isApart ? "0.0.0.0" : "127.0.0.1";
  const parts = {
    ...{ clock, namespace },
    search: server !== null && "url" in server
      ? stack.use(new FaultyProxy(server.url, address))
      : null,
    temporary: await smallDisk?.() ?? null,
  };
  const members = await startMembers(place, parts);
  stack.defer(async () => {
    await Promise.all(members.map((member) => member.stop()));
  });
  const skipped = new Map(
    all.flatMap(({ name, needs, missing = null }) => {
      const why = missing ??
        (needs === "search" && server !== null && "missing" in server ? server.missing : null);
      return why === null ? [] : [[name, why]];
    }),
  );
  const faults = all.filter(({ name }) => !skipped.has(name));
  const totals = await runRounds({
    ...options,
    ...parts,
    faults,
    place,
    members,
    chance,
    requests,
    wrong,
  });
  return { ...totals, skipped, slowestMs: requests.slowestMs, wrong };
}

async function openPlace(
  { engine, seconds }: NemesisOptions,
  stack: AsyncDisposableStack,
  isApart: boolean,
  disk: () => string | Promise<string>,
): Promise<PostgresPlace | SqlitePlace> {
  if (engine === "postgres") {
    // A network namespace reaches no loopback address of this machine.
    return stack.use(await PostgresPlace.open(isApart ? "0.0.0.0" : "127.0.0.1", seconds === 0));
  }
  return new SqlitePlace({ database: await disk(), store: await disk() });
}

async function createRows({ url }: Place): Promise<void> {
  const db = await openDatabase(url);
  await db.createTables([projects, items, orders, paid, notes, imported]);
  const text = `INSERT INTO projects (id, owner_id, name)
    VALUES (1, 'ada', 'a'), (2, 'bob', 'b'), (3, 'ada', 'c')`;
  await db.query({ text, values: [] });
  await db.close();
}
