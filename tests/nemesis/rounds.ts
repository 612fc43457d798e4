/** Rounds: writers write while faults happen, then everything heals, and the checks follow. */
import { sleep } from "../../src/runtime/runtime.ts";
import type { Chance } from "../live/checker/chance.ts";
import type { RowState } from "../simulation/history.ts";
import type { FaultyProxy } from "../search/faulty_proxy.ts";
import { type Follower, type Requests, startFollowers } from "./clients.ts";
import type { Fault } from "./faults/fault.ts";
import type { Member } from "./fleet.ts";
import type { FaultCounts, NemesisOptions, NemesisOutcome } from "./nemesis.ts";
import type { MovableClock } from "./movable_clock.ts";
import type { Namespace } from "./namespace.ts";
import { Readiness } from "./readiness.ts";
import { budgetOfBuyer } from "./service_config.ts";
import type { PostgresPlace, SqlitePlace, World } from "./world.ts";
import { ItemWriters, OrderWriters, type Outcomes, type WriterParts } from "./writers.ts";

export interface RoundParts extends Omit<NemesisOptions, "faults"> {
  readonly faults: readonly Fault[];
  readonly place: PostgresPlace | SqlitePlace;
  readonly clock: MovableClock | null;
  readonly namespace: Namespace | null;
  readonly search: FaultyProxy | null;
  readonly temporary: string | null;
  readonly members: readonly Member[];
  readonly chance: Chance;
  readonly requests: Requests;
  readonly wrong: string[];
}

/** Every process serves again within this time after a fault, and streams agree with lists. */
const recoveryLimitMs = 15_000;
/** The limit of a short run, which may share its machine with other tests. */
const shortRecoveryLimitMs = 120_000;
const itemWriterCount = 5;
const orderWriterCount = 2;

export async function runRounds(
  parts: RoundParts,
): Promise<Omit<NemesisOutcome, "skipped" | "slowestMs" | "wrong">> {
  const rounds = new Rounds(parts);
  try {
    await rounds.run();
  } finally {
    await rounds.stop();
  }
  const { faults, outcomes, rounds: count, events, lostByStandby } = rounds;
  return { faults, outcomes, rounds: count, events, lostByStandby };
}

class Rounds {
  readonly faults = new Map<string, FaultCounts>();
  readonly outcomes: Outcomes = { ok: 0, fail: 0, unknown: 0 };
  rounds = 0;
  lostByStandby = 0;
  readonly #parts: RoundParts;
  readonly #followers: readonly Follower[];
  readonly #orders: OrderWriters;
  /** Everything wrong that followers have found so far. */
  #knownFaults = 0;

  constructor(parts: RoundParts) {
    this.#parts = parts;
    const { requests, members, chance } = parts;
    this.#followers = startFollowers(requests, members, chance);
    this.#orders = new OrderWriters(this.#writerParts());
    for (const { name } of parts.faults) {
      this.faults.set(name, { count: 0, recoveredMs: 0, agreedMs: 0, wrong: 0 });
    }
  }

  get #isShort(): boolean {
    return this.#parts.seconds === 0;
  }

  get #recoveryLimitMs(): number {
    return this.#isShort ? shortRecoveryLimitMs : recoveryLimitMs;
  }

  get events(): number {
    return this.#followers.reduce((sum, { held }) => sum + held.events, 0);
  }

  async run(): Promise<void> {
    const { seconds, chance, faults, stopping, log } = this.#parts;
    const until = performance.now() + seconds * 1_000;
    // Every fault once, in any order; then again.
    let next: Fault[] = [];
    while (stopping?.aborted !== true) {
      if (this.#isShort ? this.rounds === faults.length : performance.now() > until) break;
      if (next.length === 0) next = chance.sample(faults, faults.length);
      const chosen = next.splice(0, chance.once(4) && !this.#isShort ? 2 : 1);
      const before = this.#parts.wrong.length;
      await this.#round(chosen);
      this.rounds++;
      const wrong = this.#parts.wrong.slice(before);
      const names = chosen.map(({ name }) => name).join(", then ");
      for (const { name } of chosen) this.#countsOf(name).wrong += wrong.length;
      const { recoveredMs, agreedMs } = this.#last;
      log?.(
        `round ${this.rounds}: ${names}: served again after ${recoveredMs} ms, ` +
          `agreed after ${agreedMs} ms${
            wrong.slice(0, 5).map((text) => `\n  WRONG ${text}`).join("")
          }`,
      );
    }
    // Claims of processes that were killed end after 30 seconds.
    const open = this.#isShort ? [] : await this.#orders.confirm(35_000);
    for (const key of open) this.#parts.wrong.push(`no response tells the outcome of ${key}`);
    await this.#checkOrders("at the end", false);
  }

  async stop(): Promise<void> {
    await Promise.all(this.#followers.map((one) => one.stop()));
  }

  #last = { recoveredMs: 0, agreedMs: 0 };

  async #round(chosen: readonly Fault[]): Promise<void> {
    const { chance, wrong, members, place, clock, namespace, search, temporary, requests } =
      this.#parts;
    let isOver = false;
    let mayLose = false;
    const readiness = new Readiness(members, wrong);
    const writers = new ItemWriters(this.#writerParts(), await this.#readItems());
    const buyers = Array.from({ length: orderWriterCount }, (_one, at) => `u${this.rounds}x${at}`);
    const starts = () => members.reduce((sum, member) => sum + member.starts, 0);
    const processes = members.reduce((sum, { workers }) => sum + workers, 0);
    const startsBefore = starts();
    const unshared = () => members.reduce((sum, member) => sum + member.unshared(), 0);
    const unsharedBefore = unshared();
    const writing = [
      ...Array.from({ length: itemWriterCount }, () => writers.writeUntil(() => isOver)),
      ...buyers.map((buyer) => this.#orders.orderUntil(buyer, () => isOver)),
    ];
    const hold = (maxMs: number) =>
      sleep(100 + chance.below((this.#isShort ? Math.min(maxMs, 1_000) : maxMs) - 100));
    const world: World = {
      ...{ chance, members, place, clock, namespace, search, temporary, requests, hold },
      recoveryLimitMs: this.#recoveryLimitMs,
      wrong: (text) => wrong.push(text),
      outage: (work) => readiness.outage(work),
      permitLoss: () => mayLose = true,
    };
    await sleep(500);
    for (const fault of chosen) {
      await fault.run(world);
      this.#countsOf(fault.name).count++;
      await sleep(chance.below(300));
    }
    if (chance.once(3)) chance.pick(this.#followers).disconnect();
    const recoveredMs = await this.#untilServing();
    isOver = true;
    await Promise.all(writing);
    await readiness.stop();
    if (!this.#isShort) await this.#orders.confirm(2_000);
    await place.untilQuiet();
    const agreedMs = await this.#untilAgreed();
    this.#last = { recoveredMs, agreedMs };
    for (const { name } of chosen) {
      const counts = this.#countsOf(name);
      counts.recoveredMs = Math.max(counts.recoveredMs, recoveredMs);
      counts.agreedMs = Math.max(counts.agreedMs, agreedMs);
    }
    const found = writers.check(await this.#readItems());
    if (found !== null && !mayLose) wrong.push(found);
    await this.#checkOrders("after the round", mayLose);
    const isUnshared = unshared() > unsharedBefore;
    if (isUnshared && !chosen.some(({ hitsStore }) => hitsStore)) {
      this.#parts.log?.("a process counted tokens alone, although the store had no fault");
    }
    // A process that cannot reach the store reports this, and has the whole budget.
    const shares = isUnshared ? processes + starts() - startsBefore : 1;
    await this.#checkBudgets(buyers, budgetOfBuyer * shares);
    // For a second after a failure, a process does not call the store, and does not report it again.
    if (isUnshared) await sleep(1_100);
    this.#takeFaultsOfFollowers();
  }

  /** Waits until each service is ready and writes. Returns the time in milliseconds. */
  async #untilServing(): Promise<number> {
    const { requests, members, wrong } = this.#parts;
    const beganAt = performance.now();
    const took = () => Math.round(performance.now() - beganAt);
    await Promise.all(members.map(async (member) => {
      for (;;) {
        const ready = await requests.send(member, "GET", "/readyz", { user: "root" });
        const sent = { user: "root", body: { name: `p${took()}` } };
        const written = await requests.send(member, "PATCH", "/api/projects/3", sent);
        if (ready?.status === 200 && written?.status === 200) return;
        if (took() > this.#recoveryLimitMs) {
          wrong.push(
            `${member.workers} workers do not serve ${took()} ms after the fault: ` +
              `/readyz ${ready?.text}, PATCH ${written?.text}\n${member.reports().slice(-3_000)}`,
          );
          return;
        }
        await sleep(50);
      }
    }));
    return took();
  }

  /**
   * Waits until every follower has the rows of the list of its user. Returns the time in
   * milliseconds. A comparison reads the rows of the follower first, so its lists add no time.
   */
  async #untilAgreed(): Promise<number> {
    const { wrong } = this.#parts;
    const beganAt = performance.now();
    let late = "";
    for (;;) {
      const took = Math.round(performance.now() - beganAt);
      const faults = (await Promise.all(this.#followers.map((one) => this.#compare(one)))).flat();
      if (faults.length === 0) {
        if (took > 2_000) this.#parts.log?.(`agreed only after ${took} ms: ${late}`);
        return took;
      }
      late = faults.join("\n");
      if (took > this.#recoveryLimitMs) {
        wrong.push(...faults);
        return took;
      }
      await sleep(50);
    }
  }

  async #compare(follower: Follower): Promise<readonly string[]> {
    const { requests, members } = this.#parts;
    const faults: string[] = [];
    const { user, query } = follower.interest;
    const held = printRows([...follower.held.rows.values()]);
    for (const member of members) {
      const path = `/api/items?${query.includes("limit") ? "" : "limit=100&"}${query}`;
      const response = await requests.send(member, "GET", path, { user });
      if (response?.status !== 200) {
        faults.push(`the list of ${user} ${query}: ${response?.status} ${response?.text}`);
        continue;
      }
      const listed = printRows(JSON.parse(response.text).items);
      const [more, less] = [held.difference(listed), listed.difference(held)];
      if (more.size + less.size === 0) continue;
      faults.push(
        `${follower.describe()}\n  the stream of ${user} ${query} has\n    ${
          [...more].join("\n    ")
        }\n` +
          `  and the list of ${member.workers} workers has\n    ${[...less].join("\n    ")}`,
      );
    }
    return faults;
  }

  async #readItems(): Promise<ReadonlyMap<number, RowState>> {
    const rows = await this.#parts.place.query(
      `SELECT id, project_id AS "projectId", rank, title, version FROM items`,
    );
    const number = (value: unknown) => value === null ? null : Number(value);
    return new Map(rows.map(({ id, projectId, rank, title, version }) => [
      Number(id),
      { projectId: number(projectId), rank: number(rank), title, version: number(version) },
    ]));
  }

  async #checkOrders(when: string, mayLose: boolean): Promise<void> {
    const { place, wrong } = this.#parts;
    const rows = await place.query(`SELECT title, count(*) AS n FROM
      (SELECT title FROM orders UNION ALL SELECT title FROM paid) all_orders GROUP BY title`);
    const counts = new Map(rows.map(({ title, n }) => [String(title), Number(n)]));
    const { lost, twice } = this.#orders.check(counts, mayLose);
    for (const title of twice) wrong.push(`executed twice ${when}: ${title}`);
    if (mayLose) this.lostByStandby += lost.length;
    else for (const title of lost) wrong.push(`acknowledged and lost ${when}: ${title}`);
  }

  async #checkBudgets(buyers: readonly string[], capacity: number): Promise<void> {
    const { place, wrong } = this.#parts;
    for (const buyer of buyers) {
      const text = `SELECT count(*) AS n FROM paid WHERE title LIKE '${buyer}-%'`;
      const count = Number((await place.query(text))[0]?.["n"]);
      if (count > capacity) wrong.push(`${buyer} has paid ${count} times with ${capacity} tokens`);
    }
  }

  #takeFaultsOfFollowers(): void {
    const faults = this.#followers.flatMap(({ interest, held }) =>
      held.faults.map((text) => `the stream of ${interest.user} ${interest.query}: ${text}`)
    );
    this.#parts.wrong.push(...faults.slice(this.#knownFaults));
    this.#knownFaults = faults.length;
  }

  #writerParts(): WriterParts {
    const { chance, requests, members } = this.#parts;
    return { chance, requests, outcomes: this.outcomes, member: () => chance.pick(members) };
  }

  #countsOf(name: string): FaultCounts {
    const counts = this.faults.get(name);
    if (counts === undefined) throw new Error(`There is no fault ${name}`);
    return counts;
  }
}

function printRows(rows: readonly Readonly<Record<string, unknown>>[]): ReadonlySet<string> {
  return new Set(rows.map(({ _etag, ...row }) => JSON.stringify(row)));
}
