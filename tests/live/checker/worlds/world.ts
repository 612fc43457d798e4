import type { App } from "../../../../src/app/app.ts";
import type { MortalPostgres } from "../../../support/mortal_postgres.ts";
import { Chance } from "../chance.ts";
import { AggregateFollower } from "./aggregate_follower.ts";
import { type Backups, openBackups } from "./backups.ts";
import { type Cast, openOutside, type Sabotage, startServices } from "./cast.ts";
import { crash } from "./crash.ts";
import { type Finding, Findings, type Rule } from "./findings.ts";
import { History } from "./history.ts";
import { randomInterests, randomQuestions } from "./interests.ts";
import { type OldProgram, type OldSqlite, openOldSqlite } from "./old_sqlite.ts";
import { OpenTransactions } from "./open_transactions.ts";
import type { WorldOptions } from "./options.ts";
import { compare } from "./rest.ts";
import { RowFollower } from "./row_follower.ts";
import { Sight } from "./sight.ts";
import { Statements } from "./statements.ts";
import { createTables } from "./tables.ts";
import { macroturns, unlessStuck } from "./turns.ts";
import {
  writeByApi,
  writeByProcedure,
  writeBySql,
  writeEach,
  writeTogether,
  type Writing,
} from "./writers.ts";
import type { Database } from "../../../../src/db/database.ts";

/** What a world needs to exist. */
export interface WorldPlan {
  readonly seed: number;
  readonly options: WorldOptions;
  /** An empty database. */
  readonly url: string;
  /** Whose server may crash; null for SQLite. */
  readonly server: MortalPostgres | null;
  /** The other SQLite that writes; null where there is none. */
  readonly program: OldProgram | null;
  readonly overlooked: ReadonlySet<Rule>;
  readonly sabotage: Sabotage;
  readonly stopping: AbortSignal | undefined;
}

/** What came of a world. */
export interface WorldOutcome {
  /** What was wrong first; null where nothing was. */
  readonly finding: Finding | null;
  readonly events: number;
  readonly commits: number;
  /** How often a client was held against its list at rest. */
  readonly comparisons: number;
  readonly crashes: number;
  readonly restores: number;
  /** The last that was written, line by line. */
  readonly log: readonly string[];
}

const interestCount = 30;
/** So many follow the same: what is read and sent once has to be right for all of them. */
const followersOfEach = 3;
const aggregateFollowers = 8;
const bursts = 16;
const loggedLines = 400;

/** Lives through bursts of writes, and holds every client against its list after each. */
export async function runWorld(plan: WorldPlan): Promise<WorldOutcome> {
  const world = await World.begin(plan);
  try {
    return await world.run();
  } finally {
    await world.end();
  }
}

/** Everything that a rest looks at. */
export interface WorldParts {
  readonly plan: WorldPlan;
  readonly cast: Cast;
  readonly history: History;
  readonly grantedView: Sight;
  readonly findings: Findings;
  readonly rows: readonly RowFollower[];
  readonly aggregates: readonly AggregateFollower[];
}

class World {
  readonly #parts: WorldParts;
  readonly #writing: Writing;
  readonly #chance: Chance;
  readonly #outside: Database;
  /** Its connections may all be in the middle of something. */
  readonly #others: Database;
  readonly #transactions: OpenTransactions;
  readonly #old: OldSqlite | null;
  readonly #log: string[];
  /** Null where none is restored. */
  readonly #backups: Backups | null;
  #comparisons = 0;
  #crashes = 0;
  #restores = 0;

  private constructor(parts: WorldParts, own: {
    readonly writing: Writing;
    readonly outside: Database;
    readonly others: Database;
    readonly old: OldSqlite | null;
    readonly backups: Backups | null;
    readonly log: string[];
  }) {
    this.#parts = parts;
    this.#writing = own.writing;
    this.#chance = own.writing.chance;
    this.#outside = own.outside;
    this.#old = own.old;
    this.#backups = own.backups;
    this.#log = own.log;
    this.#others = own.others;
    this.#transactions = new OpenTransactions(own.others);
  }

  static async begin(plan: WorldPlan): Promise<World> {
    const { seed, options, url, program, sabotage } = plan;
    const chance = new Chance(seed);
    const outside = await openOutside(url);
    // What foreign keys do by themselves is not what the service writes.
    await createTables(outside, options.mode === "triggers" || options.engine === "sqlite");
    const statements = new Statements(chance, options.engine);
    const cast = await startServices(url, { options, chance, sabotage });
    await sabotage.spoil?.(outside);
    const history = new History(outside.dialect, cast.elapsedMs);
    const findings = new Findings(plan.overlooked);
    const log: string[] = [];
    const note = (line: string) => {
      log.push(`${history.now + 1}: ${line.replaceAll(/\s+/g, " ").slice(0, 240)}`);
      if (log.length > loggedLines) log.shift();
    };
    const writing = { chance, statements, history, findings, reader: outside, note };
    for (const text of statements.first()) await outside.driver.query({ text, values: [] });
    history.add([], await history.read(outside.driver));
    const grantedView = new Sight(history, options);
    const isUntold = options.mode === "service" && options.writer !== "none";
    const hasMoments = options.engine === "sqlite" && !isUntold;
    const { wire } = sabotage;
    const shared = {
      history,
      grantedView,
      findings,
      isUntold,
      ...(wire === undefined ? {} : { wire }),
    };
    const old = options.writer === "old-sqlite" && program !== null
      ? openOldSqlite(program, url.slice("sqlite:".length))
      : null;
    const backups = options.restores ? await openBackups(outside, url) : null;
    const aggregateCount = options.aggregates ? aggregateFollowers : 0;
    return new World({
      ...{ plan, cast, ...shared },
      rows: randomInterests(chance, interestCount, options).flatMap((interest) =>
        Array.from(
          { length: followersOfEach },
          () => new RowFollower({ ...shared, interest, hasMoments }),
        )
      ),
      aggregates: randomQuestions(chance, aggregateCount).map((question) =>
        new AggregateFollower({ ...shared, question })
      ),
    }, { writing, outside, others: await openOutside(url), old, backups, log });
  }

  async run(): Promise<WorldOutcome> {
    const { findings, history, plan: { options, stopping } } = this.#parts;
    await this.#rest();
    for (let burst = 0; burst < bursts && findings.first === null; burst++) {
      if (stopping?.aborted) break;
      this.#shake();
      if (this.#chance.once(2)) await macroturns(3);
      if (this.#backups !== null && this.#chance.once(3)) await this.#backUp(this.#backups);
      await this.#write();
      if (this.#backups?.isTaken && this.#chance.once(3)) await this.#restore(this.#backups);
      if (options.crashes && this.#chance.once(3)) await this.#crash();
      await this.#rest();
    }
    const followers = [...this.#parts.rows, ...this.#parts.aggregates];
    return {
      finding: findings.first,
      events: followers.reduce((sum, { count }) => sum + count, 0),
      commits: history.now,
      comparisons: this.#comparisons,
      crashes: this.#crashes,
      restores: this.#restores,
      log: this.#log,
    };
  }

  async end(): Promise<void> {
    const { rows, aggregates, cast } = this.#parts;
    for (const follower of [...rows, ...aggregates]) follower.disconnect();
    await this.#transactions.giveUp();
    await macroturns(3);
    await cast[Symbol.asyncDispose]();
    await this.#old?.close();
    await this.#backups?.[Symbol.asyncDispose]();
    await this.#outside.close();
    await this.#others.close();
  }

  /** Some clients disconnect, some resume, some stop reading. */
  #shake(): void {
    for (const follower of [...this.#parts.rows, ...this.#parts.aggregates]) {
      if (this.#chance.once(12)) {
        if (this.#chance.once(4) && follower instanceof RowFollower) follower.forget();
        else follower.disconnect();
      } else if (this.#chance.once(10)) follower.pause();
      if (!follower.isConnected && !this.#chance.once(3)) follower.connect(this.#app());
    }
  }

  async #write(): Promise<void> {
    const chance = this.#chance;
    const commits = chance.pick([1, 3, 10, 30, 30, 80]);
    const { cast, findings } = this.#parts;
    // Without a moment between them the services learn of all of it at once.
    const isDense = chance.once(3);
    for (let commit = 0; commit < commits && findings.first === null; commit++) {
      await this.#writeOnce();
      for (const follower of [...this.#parts.rows, ...this.#parts.aggregates]) follower.digest();
      if (isDense || !chance.once(6)) continue;
      cast.advance(chance.pick([5, 30, 120, 600]));
      await macroturns(1);
    }
  }

  async #writeOnce(): Promise<void> {
    const { plan: { options: { mode, writer, together } } } = this.#parts;
    const writing = this.#writing;
    const app = this.#app();
    // A row that an open transaction holds is waited for.
    const giveUpTransactions = () => this.#transactions.giveUp();
    if (this.#chance.once(3)) {
      const write = together && this.#chance.once(2) ? writeTogether : writeByApi;
      return await unlessStuck(() => write(app, writing), giveUpTransactions);
    }
    if (mode === "service" && (writer === "none" || this.#chance.once(2))) {
      return await writeByProcedure(app, writing);
    }
    if (this.#chance.once(12)) {
      await giveUpTransactions();
      const some = writing.statements.handover();
      return await writeEach((sql) => this.#runOutside(sql), some, writing);
    }
    await this.#writePast();
  }

  /** Past the service, by the writers that this world has. */
  async #writePast(): Promise<void> {
    const { plan: { options: { writer } } } = this.#parts;
    if (writer === "transactions") return await this.#transactions.step(this.#writing);
    if (writer !== "old-sqlite" || this.#chance.once(4)) {
      return await writeBySql(this.#outside, this.#writing);
    }
    const some = [this.#writing.statements.any()];
    await writeEach((sql) => this.#runOutside(sql), some, this.#writing);
  }

  async #runOutside(sql: string): Promise<void> {
    if (this.#old === null) await this.#outside.driver.query({ text: sql, values: [] });
    else await this.#old.run(sql);
  }

  async #crash(): Promise<void> {
    const { plan: { server, options: { mode } }, cast, history } = this.#parts;
    if (server === null) throw new Error("There is a server that can crash");
    await this.#transactions.giveUp();
    this.#writing.note("crash");
    const parts = { outside: this.#outside, cast, history, chance: this.#chance };
    const givenBack = await crash(server, parts);
    this.#crashes++;
    // They are given again before the services look.
    const commits = this.#chance.pick([0, givenBack + 5, givenBack + 20]);
    for (let left = commits; left > 0; left--) {
      if (mode === "triggers") await writeBySql(this.#outside, this.#writing);
      else await writeByProcedure(this.#app(), this.#writing);
    }
  }

  async #backUp(backups: Backups): Promise<void> {
    this.#writing.note("backup");
    await backups.take();
    if (this.#chance.once(2)) await this.#rest();
  }

  async #restore(backups: Backups): Promise<void> {
    const { history } = this.#parts;
    await this.#transactions.giveUp();
    this.#writing.note("restore");
    await backups.restore();
    history.add([], await history.read(this.#outside.driver));
    this.#restores++;
    for (const follower of this.#parts.rows) follower.expectRestore();
    // Other changes get the numbers of those that were lost, before the services look.
    for (let left = this.#chance.pick([0, 1, 3, 30]); left > 0; left--) {
      await writeBySql(this.#outside, this.#writing);
    }
  }

  async #rest(): Promise<void> {
    for (const follower of [...this.#parts.rows, ...this.#parts.aggregates]) follower.resume();
    this.#writing.note("rest");
    this.#comparisons += await compare(this.#parts, () => this.#app());
  }

  #app(): App {
    return this.#chance.pick(this.#parts.cast.apps);
  }
}
