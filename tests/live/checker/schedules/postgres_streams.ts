import { coversChange, printLogPosition } from "../../../../src/db/changes/log_position.ts";
import type { Change, ChangeLog } from "../../../../src/db/changes/change_log.ts";
import { resolveChangesOptions } from "../../../../src/db/changes/changes_options.ts";
import { openChangeLog } from "../../../../src/db/changes/open_change_log.ts";
import { openDatabase } from "../../../../src/engines/open_database.ts";
import type { Observation, Runtime } from "../../../../src/runtime/runtime.ts";
import { systemRuntime } from "../../../../src/runtime/system_runtime.ts";
import { type LiveLimits, liveLimits } from "../../../../src/live/live_limits.ts";
import { run } from "../../../support/scratch.ts";
import { Chance } from "../chance.ts";
import { Client } from "./client.ts";
import { Gate } from "./gate.ts";
import { hurriedClock, pause } from "./hurried_clock.ts";
import { type Fault, type Instance, openInstance } from "./instance.ts";
import { randomInterests } from "./interests.ts";
import { listOracle } from "./oracle.ts";
import type { Heard, Positions } from "./replica.ts";
import { Truth } from "./truth.ts";
import { positionOf, positionsOf } from "./token_position.ts";
import { createWorld, definitions, firstGrants, type Grants, tables } from "./world.ts";
import { writeByApi } from "./api_writes.ts";
import { writeBySql } from "./sql_writes.ts";
import type { Database } from "../../../../src/db/database.ts";

/** How a Postgres is put under load. */
export interface PostgresCheckOptions {
  /** An empty database. */
  readonly url: string;
  readonly seed: number;
  readonly writingMs: number;
  readonly fault?: Fault;
}

/** What came of it. */
export interface PostgresVerdict {
  /** What was wrong first. */
  readonly failure: string | null;
  readonly events: number;
  readonly changes: number;
}

/**
 * Several writers at once, two servers, and clients that go from one to the other. Nothing is
 * decided here about what happens first; what was heard is held against the log at the end.
 */
export async function checkPostgresStreams(
  options: PostgresCheckOptions,
): Promise<PostgresVerdict> {
  const check = await PostgresCheck.begin(options);
  try {
    return await check.run();
  } finally {
    await check.end();
  }
}

const writers = 8;
const clientCount = 24;
/** Those stay at the second server, and read whatever comes. */
const constantCount = 10;
const restMs = 20_000;

const limits: readonly LiveLimits[] = [
  {
    ...liveLimits,
    ringBuffer: { changes: 100, bytes: 1_000_000 },
    maxRowsPerPage: 4,
    maxChangesAtOnce: 10,
    maxUnreadBytes: 2_000,
  },
  { ...liveLimits, maxRowsPerPage: 4, maxUnreadBytes: 10_000_000 },
];

class PostgresCheck {
  readonly #options: PostgresCheckOptions;
  readonly #db: Database;
  readonly #log: ChangeLog;
  readonly #truth: Truth;
  readonly #instances: Instance[] = [];
  readonly #clients: Client[] = [];
  readonly #heard = new Map<Client, Heard[]>();
  /** From where on a constant client has heard everything. */
  readonly #since = new Map<Client, string>();
  readonly #observations: Observation[] = [];
  readonly #grants: Grants = firstGrants();
  #failure: string | null = null;
  #isOver = false;

  private constructor(
    options: PostgresCheckOptions,
    parts: { readonly db: Database; readonly log: ChangeLog; readonly truth: Truth },
  ) {
    this.#options = options;
    this.#db = parts.db;
    this.#log = parts.log;
    this.#truth = parts.truth;
  }

  static async begin(options: PostgresCheckOptions): Promise<PostgresCheck> {
    const db = await openDatabase(options.url);
    await createWorld(db);
    // Writers who meet in the wrong order must not stand still for a second each time.
    await run(
      db,
      `DO $$ BEGIN
        EXECUTE format('ALTER DATABASE %I SET deadlock_timeout = 10', current_database());
      END $$`,
    );
    const log = await openChangeLog({
      driver: db.driver,
      tables: Object.values(tables),
      changes: resolveChangesOptions(),
      runtime: systemRuntime(() => {}),
    });
    const check = new PostgresCheck(options, { db, log, truth: await Truth.begin(log) });
    await check.#start();
    return check;
  }

  async run(): Promise<PostgresVerdict> {
    const reading = this.#clients.map((client, index) => this.#follow(client, index));
    const until = performance.now() + this.#options.writingMs;
    const { seed } = this.#options;
    await Promise.all(
      Array.from({ length: writers }, (_, writer) => this.#write(new Chance(seed + writer), until)),
    );
    await this.#rest();
    this.#isOver = true;
    await Promise.all(reading);
    await this.#evaluate();
    let changes = 0;
    for (const place of ["things", "parts"] as const) changes += this.#truth.countOf(place);
    const events = this.#clients.reduce((sum, { replica }) => sum + replica.count, 0);
    return { failure: this.#failure, events, changes };
  }

  async end(): Promise<void> {
    for (const client of this.#clients) client.disconnect();
    for (const instance of this.#instances) await instance.close();
    await this.#log.close();
    await this.#db.close();
  }

  async #start(): Promise<void> {
    const { url, seed, fault = {} } = this.#options;
    const observe = (observation: Observation) => this.#observations.push(observation);
    const runtime: Runtime = { ...systemRuntime(observe), clock: hurriedClock };
    for (const size of limits) {
      this.#instances.push(
        await openInstance({
          db: await openDatabase(url),
          resources: definitions(this.#grants),
          limits: size,
          runtime,
          semaphore: new Gate(),
          fault,
        }),
      );
    }
    for (const interest of randomInterests(new Chance(seed), clientCount)) {
      const { positions } = this;
      const client = new Client({ interest, positions, grants: this.#grants, isTotal: false });
      client.onToken = (token) => {
        if (token !== "" && client.replica.isConstant && !this.#since.has(client)) {
          this.#since.set(client, token);
        }
      };
      this.#clients.push(client);
      this.#heard.set(client, []);
    }
  }

  get positions(): Positions {
    return positionsOf("snapshots");
  }

  /** In transactions that begin early, pause anywhere, and sometimes come to nothing. */
  async #write(chance: Chance, until: number): Promise<void> {
    while (performance.now() < until && this.#failure === null) {
      const instance = chance.pick(this.#instances);
      if (chance.once(3)) {
        const fault = await writeByApi(instance, chance);
        if (fault !== null) this.#fail(fault);
        continue;
      }
      await writeBySql(instance.db, chance, async (connection) => {
        if (chance.once(2)) {
          await connection.query({ text: "SELECT pg_current_xact_id()", values: [] });
        }
        if (!chance.once(3)) return;
        const pause = `SELECT pg_sleep(${chance.below(8) / 1_000})`;
        await connection.query({ text: pause, values: [] });
      });
    }
  }

  /** Reads as long as it likes, then goes elsewhere. */
  async #follow(client: Client, index: number): Promise<void> {
    const chance = new Chance(this.#options.seed + 1_000 + index);
    const isConstant = index < constantCount;
    while (!this.#isOver) {
      if (!client.isConnected) {
        const instance = this.#instances[isConstant ? 1 : chance.below(2)];
        if (instance !== undefined) client.connect(instance);
      }
      client.evaluateInDatabase();
      await pause(chance.once(30) && !isConstant ? 40 : 1);
      while (client.take(chance.pick([3, 200, 100_000]))) { /* what has come */ }
      this.#heard.get(client)?.push(...client.replica.heard);
      client.replica.heard = [];
      if (!isConstant && !this.#isResting && chance.once(150)) {
        if (chance.once(3)) client.forget();
        else client.disconnect();
      }
    }
  }

  #isResting = false;

  async #rest(): Promise<void> {
    this.#isResting = true;
    const end = printLogPosition(await this.#log.end());
    const deadline = performance.now() + restMs;
    const late = () =>
      this.#clients.find(({ replica }) =>
        !replica.isSynced || replica.token === "" || !this.positions.includes(replica.token, end)
      );
    while (late() !== undefined && performance.now() < deadline) await pause(20);
    const client = late();
    if (client !== undefined) this.#failAt(client, `it is at ${client.replica.token}, not ${end}`);
  }

  async #evaluate(): Promise<void> {
    await this.#truth.learn();
    const [instance] = this.#instances;
    if (instance === undefined) throw new Error("There is an instance");
    const oracle = listOracle(instance);
    for (const client of this.#clients) {
      const [fault] = [...client.faults, ...client.replica.faults];
      if (fault !== undefined) this.#failAt(client, fault);
      const difference = await oracle.differenceOf(client);
      if (difference !== null) this.#failAt(client, difference);
      this.#evaluateEvents(client);
    }
    const fault = this.#observations.find(({ kind }) => kind !== "notice");
    if (fault !== undefined) this.#fail(`observed: ${Deno.inspect(fault)}`);
  }

  #evaluateEvents(client: Client): void {
    const { filter, replica, interest: { place } } = client;
    const heard = this.#heard.get(client) ?? [];
    if (filter === null) return;
    for (const event of heard) {
      const fault = this.#truth.faultOf(event, place, filter);
      if (fault !== null) this.#failAt(client, `${event.type}: ${fault}`);
    }
    const since = positionOf(this.#since.get(client) ?? "");
    if (since === null || !replica.isConstant || this.#clients.indexOf(client) >= constantCount) {
      return;
    }
    const isNew = (change: Change) => !coversChange(since, change);
    const expected = this.#truth.eventsAfter(isNew, place, filter);
    const later = heard.filter(({ seq }) => this.#truth.isWhere(seq, isNew));
    const lines = later.map(({ type, id, seq }) => `${type} ${id} ${seq}`);
    if (lines.toSorted().join("; ") !== [...expected].toSorted().join("; ")) {
      this.#failAt(client, `it heard ${lines.join("; ")} and not ${expected.join("; ")}`);
    }
    this.#requireWhole(client, later);
  }

  /** The rows of one transaction stand together. */
  #requireWhole(client: Client, heard: readonly Heard[]): void {
    const ended = new Set<bigint | null>();
    let last: bigint | null = null;
    for (const { seq } of heard) {
      const transaction = this.#truth.transactionOf(seq);
      if (transaction === last) continue;
      ended.add(last);
      last = transaction;
      if (ended.has(transaction)) this.#failAt(client, `transaction ${transaction} is in pieces`);
    }
  }

  #failAt(client: Client, text: string): void {
    const { user, place, filter } = client.interest;
    this.#fail(`${user}, ${place} where ${filter || "anything"}: ${text}`);
  }

  #fail(text: string): void {
    this.#failure ??= text;
  }
}
