import type { Change, ChangeLog } from "../../../src/db/change_log.ts";
import { settleChanges } from "../../../src/db/changes_options.ts";
import { openChangeLog } from "../../../src/db/open_change_log.ts";
import { type Database, openDatabase } from "../../../src/db/open_database.ts";
import { type LiveSizes, liveSizes } from "../../../src/live/sizes.ts";
import type { Observation } from "../../../src/runtime/observation.ts";
import type { Runtime } from "../../../src/runtime/runtime.ts";
import { handClock } from "../../db/hand_clock.ts";
import { run } from "../../support/scratch.ts";
import { Chance } from "./chance.ts";
import { Client } from "./client.ts";
import { Gate } from "./gate.ts";
import { type Fault, type Instance, openInstance } from "./instance.ts";
import { randomInterests } from "./interests.ts";
import { listOracle } from "./oracle.ts";
import type { Positions } from "./replica.ts";
import { Truth } from "./truth.ts";
import { positionOf } from "./token_position.ts";
import { createWorld, definitions, firstGrants, type Grants, tables } from "./world.ts";
import { writeByApi, writeBySql } from "./writes.ts";

/** One run over a SQLite file in which nothing happens by itself: the same seeds, the same run. */
export interface SimulationOptions {
  readonly seed: number;
  /** Each is a seed of its own, so that a run without some of them is still a run. */
  readonly steps: readonly number[];
  /** Where the file is made. */
  readonly folder: string;
  readonly fault?: Fault;
  /** Told what is done, step by step. */
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

/** Runs the steps, and compares what all clients hold at rests between them and at the end. */
export async function simulate(options: SimulationOptions): Promise<Outcome> {
  const simulation = await Simulation.begin(options);
  try {
    return await simulation.run();
  } finally {
    await simulation.end();
  }
}

/** Two servers with little room for anything, and one in which every reader can keep up. */
const crampedSizes: LiveSizes = {
  ...liveSizes,
  ring: { changes: 12, bytes: 100_000 },
  rowsPerPage: 3,
  readers: 2,
  mostWaiting: 50,
  changesAtOnce: 4,
  mostUnreadBytes: 700,
};
const wideSizes: LiveSizes = {
  ...liveSizes,
  rowsPerPage: 4,
  readers: 3,
  mostUnreadBytes: 10_000_000,
};
const sizes = [crampedSizes, crampedSizes, wideSizes];

const clientCount = 36;
/** The clients of the last server read everything at once, and are told every change. */
const promptCount = 10;
const stepsBetweenRests = 120;

interface Server {
  readonly gate: Gate;
  readonly isWide: boolean;
  instance: Instance;
}

/** What a prompt client must have heard. */
interface Ledger {
  since: number;
  readonly lines: string[];
}

class Simulation {
  readonly #options: SimulationOptions;
  readonly #url: string;
  readonly #db: Database;
  readonly #log: ChangeLog;
  readonly #truth: Truth;
  readonly #runtime: Runtime;
  readonly #advance: (ms: number) => void;
  readonly #observations: Observation[];
  readonly #grants: Grants = firstGrants();
  readonly #servers: Server[] = [];
  readonly #clients: Client[] = [];
  readonly #ledgers = new Map<Client, Ledger>();
  #failure: string | null = null;
  #comparisons = 0;
  /** A log that began anew tells what it has of itself, and not each change. */
  #hasNewLife = false;

  private constructor(options: SimulationOptions, parts: SimulationParts) {
    this.#options = options;
    this.#url = parts.url;
    this.#db = parts.db;
    this.#log = parts.log;
    this.#truth = parts.truth;
    this.#runtime = parts.runtime;
    this.#advance = parts.advance;
    this.#observations = parts.observations;
  }

  static async begin(options: SimulationOptions): Promise<Simulation> {
    const simulation = new Simulation(options, await beginParts(options));
    await simulation.#start();
    return simulation;
  }

  async run(): Promise<Outcome> {
    const { steps, seed } = this.#options;
    for (const [index, step] of steps.entries()) {
      await this.#step(new Chance(step));
      await this.#look();
      if (this.#failure === null && (index + 1) % stepsBetweenRests === 0) {
        await this.#rest(new Chance(step + 1));
      }
      if (this.#failure !== null) break;
    }
    if (this.#failure === null) await this.#rest(new Chance(seed));
    return {
      failure: this.#failure,
      events: this.#clients.reduce((sum, { replica }) => sum + replica.count, 0),
      comparisons: this.#comparisons,
    };
  }

  async end(): Promise<void> {
    for (const client of this.#clients) client.disconnect();
    for (const { gate } of this.#servers) gate.open();
    await turns(10);
    for (const { instance } of this.#servers) await instance.close();
    await this.#log.close();
    await this.#db.close();
    for (const end of ["", "-wal", "-shm"]) {
      await Deno.remove(this.#url.slice("sqlite:".length) + end).catch(() => {});
    }
  }

  async #start(): Promise<void> {
    for (const size of sizes) {
      const gate = new Gate();
      this.#servers.push({
        gate,
        isWide: size === wideSizes,
        instance: await this.#open(size, gate),
      });
    }
    const chance = new Chance(this.#options.seed);
    randomInterests(chance, clientCount).forEach((interest, index) => {
      const { positions } = this;
      const client = new Client({ interest, positions, grants: this.#grants, isTotal: true });
      client.onToken = (token) => this.#checkAt(client, token);
      this.#clients.push(client);
      if (index < promptCount) this.#ledgers.set(client, { since: -1, lines: [] });
    });
    for (let write = 0; write < 12; write++) await writeBySql(this.#db, chance);
    await this.#truth.learn();
  }

  async #open(size: LiveSizes, gate: Gate): Promise<Instance> {
    const { clock } = this.#runtime;
    const db = await openDatabase(this.#url, { clock });
    await this.#options.spoil?.(db);
    return await openInstance({
      db,
      resources: definitions(this.#grants),
      sizes: size,
      runtime: this.#runtime,
      gate,
      fault: this.#options.fault ?? {},
    });
  }

  get positions(): Positions {
    return {
      isBehind: (token, earlier) => {
        const [left, right] = [positionOf(token), positionOf(earlier)];
        return left !== null && right !== null && this.#log.isBehind(left, right);
      },
      seqOf: (token) => {
        const position = positionOf(token);
        return position?.kind === "sequence" ? position.seq : null;
      },
    };
  }

  async #step(chance: Chance): Promise<void> {
    const action = chance.weighted({
      ...{ write: 40, release: 50, read: 50, connect: 12, disconnect: 3 },
      ...{ tick: 12, hold: 6, purge: 1, restart: 1, newLife: chance.once(4) ? 1 : 0 },
    });
    const server = chance.pick(this.#servers);
    this.#options.trace?.(`${action} at ${this.#servers.indexOf(server)}`);
    switch (action) {
      case "write":
        return await this.#write(chance);
      case "release":
        return server.gate.releaseOne(chance);
      case "hold":
        return chance.once(3) ? server.gate.open() : server.gate.hold();
      case "read":
        return this.#read(chance);
      case "connect":
        return this.#connect(chance);
      case "disconnect": {
        const client = chance.pick(this.#clients);
        this.#options.trace?.(`client ${this.#clients.indexOf(client)} goes away`);
        return chance.once(4) ? client.forget() : client.disconnect();
      }
      case "tick":
        return this.#advance(chance.pick([5, 30, 120, 1_200, 5_000]));
      case "purge":
        return await this.#purge(chance);
      case "restart":
        return await this.#restart(server);
      case "newLife":
        return await this.#beginNewLife(chance);
    }
  }

  async #write(chance: Chance): Promise<void> {
    if (chance.once(2)) await writeBySql(chance.pick(this.#servers).instance.db, chance);
    else {
      const fault = await writeByApi(chance.pick(this.#servers).instance, chance);
      if (fault !== null) this.#fail(fault);
    }
    await this.#learn();
  }

  async #learn(): Promise<void> {
    const { trace } = this.#options;
    await this.#truth.learn((change) => {
      trace?.(
        `change ${change.seq}: ${change.table.name} ${change.kind} ${
          JSON.stringify([change.before, change.after], (_key, value) =>
            typeof value === "bigint" ? String(value) : value)
        }`,
      );
    });
  }

  #read(chance: Chance): void {
    const client = chance.pick(this.#clients);
    client.ask();
    const most = chance.pick([1, 7, 60, 500, 10_000]);
    this.#options.trace?.(`client ${this.#clients.indexOf(client)} reads ${most}`);
    client.take(most);
  }

  #connect(chance: Chance): void {
    const away = this.#clients.filter((client) => !client.isConnected);
    if (away.length === 0) return;
    const client = chance.pick(away);
    const isPrompt = this.#ledgers.has(client);
    const { instance } = chance.pick(this.#servers.filter(({ isWide }) => isWide === isPrompt));
    this.#ledgers.set(client, { since: -1, lines: [] });
    if (!isPrompt) this.#ledgers.delete(client);
    this.#options.trace?.(
      `client ${this.#clients.indexOf(client)} connects: ${JSON.stringify(client.interest)}`,
    );
    client.connect(instance);
  }

  /** Everything up to some change is forgotten. */
  async #purge(chance: Chance): Promise<void> {
    const { rows: [row = []] } = await run(
      this.#db,
      `SELECT coalesce(max(seq), 0) FROM "_service_changes"`,
    );
    const floor = Math.max(0, Number(row[0]) - chance.below(40));
    await this.#db.driver.transaction(async (connection) => {
      const text = `UPDATE "_service_meta" SET value = ? WHERE name = 'floor'
        AND CAST(value AS INTEGER) < ?`;
      await connection.query({ text, values: [String(floor), floor] });
      const forget = `DELETE FROM "_service_changes" WHERE seq <= ?`;
      await connection.query({ text: forget, values: [floor] });
    });
  }

  async #restart(server: Server): Promise<void> {
    const { gate, isWide, instance } = server;
    gate.open();
    for (const client of this.#clients) if (client.instance === instance) client.disconnect();
    await turns(5);
    await instance.close();
    server.instance = await this.#open(isWide ? wideSizes : crampedSizes, gate);
  }

  /** As when a file is put back from a copy: no position of before counts. */
  async #beginNewLife(chance: Chance): Promise<void> {
    await this.#truth.learn();
    const epoch = Array.from({ length: 16 }, () => chance.below(16).toString(16)).join("");
    await run(this.#db, `UPDATE "_service_meta" SET value = ? WHERE name = 'epoch'`, epoch);
    await this.#truth.beginAnew();
    this.#hasNewLife = true;
  }

  /** Lets what is ready happen, lets prompt clients read, and checks what was heard. */
  async #look(): Promise<void> {
    await turns(2);
    for (let again = true; again;) {
      again = false;
      for (const client of this.#ledgers.keys()) client.ask();
      await turns(1);
      for (const client of this.#ledgers.keys()) if (client.take(1e9)) again = true;
    }
    for (const client of this.#clients) this.#check(client);
  }

  #check(client: Client): void {
    const { replica, interest, filter, faults } = client;
    const { trace } = this.#options;
    const name = `client ${this.#clients.indexOf(client)}`;
    const ledger = this.#ledgers.get(client);
    for (const event of replica.heard) {
      trace?.(`${name} hears ${event.type} ${event.id} by change ${event.seq}`);
      const fault = filter === null ? null : this.#truth.faultOf(event, interest.place, filter);
      if (fault !== null) this.#failAt(client, `${event.type}: ${fault}`);
      ledger?.lines.push(`${event.type} ${event.id} ${event.seq}`);
    }
    replica.heard = [];
    const [fault] = [...faults, ...replica.faults];
    if (fault !== undefined) this.#failAt(client, fault);
  }

  /** At each position of a sound stream a client holds exactly the rows of that moment. */
  #checkAt(client: Client, token: string): void {
    const { replica, filter, interest: { place } } = client;
    this.#check(client);
    this.#options.trace?.(`client ${this.#clients.indexOf(client)} is at ${token}`);
    const seq = this.positions.seqOf(token);
    const ledger = this.#ledgers.get(client);
    if (seq === null || !replica.isUnbroken) {
      if (ledger !== undefined) ledger.since = -1;
      return;
    }
    if (ledger !== undefined && ledger.since < 0 && replica.isConstant) {
      ledger.since = seq;
      ledger.lines.length = 0;
    }
    if (filter === null) return;
    const held = [...replica.rows.keys()].toSorted().join();
    const expected = this.#truth.idsAt(seq, place, filter).join();
    if (held !== expected) {
      this.#failAt(client, `at ${token} it holds ${held} and not ${expected}`);
    }
  }

  /** Nobody writes until everybody has heard everything. */
  async #rest(chance: Chance): Promise<void> {
    for (const { gate } of this.#servers) gate.open();
    await this.#truth.learn();
    const end = this.#log.print(await this.#log.end());
    const isThere = ({ replica, hasBegun }: Client) =>
      hasBegun && replica.isSynced && replica.token !== "" &&
      this.positions.isBehind(replica.token, end);
    await this.#readAll();
    for (let round = 0; this.#failure === null; round++) {
      const late = this.#clients.filter((client) => !isThere(client));
      if (late.length === 0) break;
      if (round === mostRounds) {
        return this.#failAt(
          late[0],
          `it does not get to ${end}, and is at ${late[0]?.replica.token}`,
        );
      }
      while (this.#clients.some((client) => !client.isConnected)) this.#connect(chance);
      // Past the next look at the scopes, and around all who wait for a sign of life.
      this.#advance(1_100);
      await this.#readAll();
    }
    await this.#compare();
    if (this.#failure === null && chance.once(4)) await this.#changeGrants(chance);
  }

  async #readAll(): Promise<void> {
    for (let again = true; again;) {
      for (const client of this.#clients) client.ask();
      await turns(4);
      again = this.#clients.map((client) => client.take(1e9)).includes(true);
    }
    await this.#look();
  }

  async #compare(): Promise<void> {
    const [{ instance } = { instance: null }] = this.#servers;
    if (instance === null) throw new Error("There is a server");
    const oracle = listOracle(instance);
    for (const client of this.#clients) {
      if (this.#failure !== null) return;
      const difference = await oracle.differenceOf(client);
      if (difference !== null) this.#failAt(client, difference);
      this.#comparisons++;
      this.#closeLedger(client);
    }
    this.#hasNewLife = false;
    const fault = this.#observations.find(({ kind }) => kind !== "notice");
    if (fault !== undefined) this.#fail(`observed: ${Deno.inspect(fault)}`);
  }

  /** Who was there all the time has heard of every change, once and in order. */
  #closeLedger(client: Client): void {
    const ledger = this.#ledgers.get(client);
    const { filter, replica, interest: { place } } = client;
    if (ledger === undefined) return;
    if (ledger.since >= 0 && filter !== null && replica.isConstant && !this.#hasNewLife) {
      const isNew = ({ seq }: Change) => seq > ledger.since;
      const expected = this.#truth.eventsBehind(isNew, place, filter).join("; ");
      const heard = ledger.lines.join("; ");
      if (heard !== expected) this.#failAt(client, `it heard ${heard} and not ${expected}`);
    }
    ledger.lines.length = 0;
    ledger.since = this.positions.seqOf(replica.token) ?? -1;
  }

  /** Streams that are open are told within a minute, and those who are away when they come back. */
  async #changeGrants(chance: Chance): Promise<void> {
    const user = chance.pick(["ada", "bob"] as const);
    for (const client of this.#clients) if (chance.once(2)) client.disconnect();
    this.#grants.set(user, chance.pick([["ada"], ["bob"], ["ada", "bob"], ["eve"]]));
    this.#options.trace?.(`${user} may see the rows of ${this.#grants.get(user)}`);
    for (let waited = 0; waited < 61_000; waited += 1_000) {
      this.#advance(1_000);
      await turns(2);
    }
    await this.#readAll();
  }

  #failAt(client: Client | undefined, text: string): void {
    const { user, place, filter } = client?.interest ?? { user: "", place: "", filter: "" };
    const name = client === undefined ? "somebody" : `client ${this.#clients.indexOf(client)}`;
    this.#fail(`${name} (${user}, ${place} where ${filter || "anything"}): ${text}`);
  }

  #fail(text: string): void {
    this.#failure ??= text;
  }
}

/** More than the slowest sign of life takes. */
const mostRounds = 200;

interface SimulationParts {
  readonly url: string;
  readonly db: Database;
  readonly log: ChangeLog;
  readonly truth: Truth;
  readonly runtime: Runtime;
  readonly advance: (ms: number) => void;
  readonly observations: Observation[];
}

async function beginParts({ folder, seed }: SimulationOptions): Promise<SimulationParts> {
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
    changes: settleChanges(),
    runtime,
  });
  return { url, db, log, truth: await Truth.begin(log), runtime, advance, observations };
}

/** Lets whatever is ready run. */
async function turns(count: number): Promise<void> {
  for (let turn = 0; turn < count; turn++) {
    await new Promise<void>((resolve) => setImmediate(resolve));
  }
}
