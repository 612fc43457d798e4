import { printLogPosition } from "../../../../src/db/changes/log_position.ts";
import { openDatabase } from "../../../../src/engines/open_database.ts";
import type { LiveLimits } from "../../../../src/live/live_limits.ts";
import { run } from "../../../support/scratch.ts";
import { Chance } from "../chance.ts";
import { writeByApi } from "./api_writes.ts";
import { Client } from "./client.ts";
import { Gate } from "./gate.ts";
import { type Instance, openInstance } from "./instance.ts";
import { randomInterests } from "./interests.ts";
import { Evaluate } from "./judge.ts";
import { listOracle } from "./oracle.ts";
import type { Positions } from "./replica.ts";
import {
  beginParts,
  crampedLimits,
  forgetSome,
  limits,
  type Outcome,
  type SimulationOptions,
  type SimulationParts,
  turns,
  wideLimits,
} from "./simulation_parts.ts";
import { writeBySql } from "./sql_writes.ts";
import { positionsOf } from "./token_position.ts";
import { definitions, firstGrants, type Grants } from "./world.ts";

/** Runs the steps, and compares what all clients hold at rests between them and at the end. */
export async function simulate(options: SimulationOptions): Promise<Outcome> {
  const simulation = await Simulation.begin(options);
  try {
    return await simulation.run();
  } finally {
    await simulation.end();
  }
}

const clientCount = 36;
/** The clients of the last server read everything at once, and receive every change. */
const promptCount = 10;
const stepsBetweenRests = 120;

interface Server {
  readonly semaphore: Gate;
  readonly isWide: boolean;
  instance: Instance;
}

class Simulation {
  readonly #options: SimulationOptions;
  readonly #parts: SimulationParts;
  readonly #grants: Grants = firstGrants();
  readonly #servers: Server[] = [];
  readonly #clients: Client[] = [];
  readonly #evaluate: Evaluate;
  #comparisons = 0;

  private constructor(options: SimulationOptions, parts: SimulationParts) {
    this.#options = options;
    this.#parts = parts;
    this.#evaluate = new Evaluate({
      clients: this.#clients,
      truth: parts.truth,
      positions: this.positions,
      trace: options.trace,
    });
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
      if (this.#evaluate.failure === null && (index + 1) % stepsBetweenRests === 0) {
        await this.#rest(new Chance(step + 1));
      }
      if (this.#evaluate.failure !== null) break;
    }
    if (this.#evaluate.failure === null) await this.#rest(new Chance(seed));
    return {
      failure: this.#evaluate.failure,
      events: this.#clients.reduce((sum, { replica }) => sum + replica.count, 0),
      comparisons: this.#comparisons,
    };
  }

  async end(): Promise<void> {
    for (const client of this.#clients) client.disconnect();
    for (const { semaphore } of this.#servers) semaphore.open();
    await turns(10);
    for (const { instance } of this.#servers) await instance.close();
    await this.#parts.log.close();
    await this.#parts.db.close();
    for (const end of ["", "-wal", "-shm"]) {
      await Deno.remove(this.#parts.url.slice("sqlite:".length) + end).catch(() => {});
    }
  }

  async #start(): Promise<void> {
    for (const size of limits) {
      const semaphore = new Gate();
      this.#servers.push({
        semaphore,
        isWide: size === wideLimits,
        instance: await this.#open(size, semaphore),
      });
    }
    const chance = new Chance(this.#options.seed);
    randomInterests(chance, clientCount).forEach((interest, index) => {
      const { positions } = this;
      const client = new Client({ interest, positions, grants: this.#grants, isTotal: true });
      client.onToken = (token) => this.#evaluate.checkAt(client, token);
      this.#clients.push(client);
      if (index < promptCount) this.#evaluate.openLedger(client);
    });
    for (let write = 0; write < 12; write++) await writeBySql(this.#parts.db, chance);
    await this.#parts.truth.learn();
  }

  async #open(size: LiveLimits, semaphore: Gate): Promise<Instance> {
    const { clock } = this.#parts.runtime;
    const db = await openDatabase(this.#parts.url, { clock });
    await this.#options.spoil?.(db);
    return await openInstance({
      db,
      resources: definitions(this.#grants),
      limits: size,
      runtime: this.#parts.runtime,
      semaphore,
      fault: this.#options.fault ?? {},
    });
  }

  get positions(): Positions {
    return positionsOf("numbered");
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
        return server.semaphore.releaseOne(chance);
      case "hold":
        return chance.once(3) ? server.semaphore.open() : server.semaphore.hold();
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
        return this.#parts.advance(chance.pick([5, 30, 120, 1_200, 5_000]));
      case "purge":
        return await forgetSome(this.#parts.db, chance);
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
      if (fault !== null) this.#evaluate.fail(fault);
    }
    await this.#learn();
  }

  async #learn(): Promise<void> {
    const { trace } = this.#options;
    await this.#parts.truth.learn((change) => {
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
    client.evaluateInDatabase();
    const most = chance.pick([1, 7, 60, 500, 10_000]);
    this.#options.trace?.(`client ${this.#clients.indexOf(client)} reads ${most}`);
    client.take(most);
  }

  #connect(chance: Chance): void {
    const away = this.#clients.filter((client) => !client.isConnected);
    if (away.length === 0) return;
    const client = chance.pick(away);
    const isPrompt = this.#evaluate.prompt.includes(client);
    const { instance } = chance.pick(this.#servers.filter(({ isWide }) => isWide === isPrompt));
    if (isPrompt) this.#evaluate.openLedger(client);
    this.#options.trace?.(
      `client ${this.#clients.indexOf(client)} connects: ${JSON.stringify(client.interest)}`,
    );
    client.connect(instance);
  }

  async #restart(server: Server): Promise<void> {
    const { semaphore, isWide, instance } = server;
    semaphore.open();
    for (const client of this.#clients) if (client.instance === instance) client.disconnect();
    await turns(5);
    await instance.close();
    server.instance = await this.#open(isWide ? wideLimits : crampedLimits, semaphore);
  }

  /** As when a file is put back from a copy: no position of before counts. */
  async #beginNewLife(chance: Chance): Promise<void> {
    await this.#parts.truth.learn();
    const epoch = Array.from({ length: 16 }, () => chance.below(16).toString(16)).join("");
    await run(this.#parts.db, `UPDATE "_service_meta" SET value = ? WHERE name = 'epoch'`, epoch);
    await this.#parts.truth.beginAgain();
    this.#evaluate.hasNewLife = true;
  }

  /** Lets what is ready happen, lets prompt clients read, and checks what was heard. */
  async #look(): Promise<void> {
    await turns(2);
    for (let again = true; again;) {
      again = false;
      for (const client of this.#evaluate.prompt) client.evaluateInDatabase();
      await turns(1);
      for (const client of this.#evaluate.prompt) if (client.take(1e9)) again = true;
    }
    for (const client of this.#clients) this.#evaluate.check(client);
  }

  /** No writes until every client has received everything. */
  async #rest(chance: Chance): Promise<void> {
    for (const { semaphore } of this.#servers) semaphore.open();
    await this.#parts.truth.learn();
    const end = printLogPosition(await this.#parts.log.end());
    const isThere = ({ replica, hasBegun }: Client) =>
      hasBegun && replica.isSynced && replica.token !== "" &&
      this.positions.includes(replica.token, end);
    await this.#readAll();
    for (let round = 0; this.#evaluate.failure === null; round++) {
      const late = this.#clients.filter((client) => !isThere(client));
      if (late.length === 0) break;
      if (round === maxRounds) {
        return this.#evaluate.failAt(
          late[0],
          `it does not get to ${end}, and is at ${late[0]?.replica.token}`,
        );
      }
      while (this.#clients.some((client) => !client.isConnected)) this.#connect(chance);
      // Past the next look at the scopes, and around all who wait for a sign of life.
      this.#parts.advance(1_100);
      await this.#readAll();
    }
    await this.#compare();
    if (this.#evaluate.failure === null && chance.once(4)) await this.#changeGrants(chance);
  }

  async #readAll(): Promise<void> {
    for (let again = true; again;) {
      for (const client of this.#clients) client.evaluateInDatabase();
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
      if (this.#evaluate.failure !== null) return;
      const difference = await oracle.differenceOf(client);
      if (difference !== null) this.#evaluate.failAt(client, difference);
      this.#comparisons++;
      this.#evaluate.closeLedger(client);
    }
    this.#evaluate.hasNewLife = false;
    const fault = this.#parts.observations.find(({ kind }) => kind !== "notice");
    if (fault !== undefined) this.#evaluate.fail(`observed: ${Deno.inspect(fault)}`);
  }

  /** Open streams are invalidated within a minute, and others when their clients resume. */
  async #changeGrants(chance: Chance): Promise<void> {
    const user = chance.pick(["ada", "bob"] as const);
    for (const client of this.#clients) if (chance.once(2)) client.disconnect();
    this.#grants.set(user, chance.pick([["ada"], ["bob"], ["ada", "bob"], ["eve"]]));
    this.#options.trace?.(`${user} may see the rows of ${this.#grants.get(user)}`);
    for (let waited = 0; waited < 61_000; waited += 1_000) {
      this.#parts.advance(1_000);
      await turns(2);
    }
    await this.#readAll();
  }
}

/** More than the slowest sign of life takes. */
const maxRounds = 200;
