import { userHeader } from "../support/http.ts";
import type { Service } from "../support/http.ts";
import { Dice } from "./dice.ts";
import { type Answer, type Ask, type Door, doorNames, Doors, passes } from "./doors.ts";
import { refill } from "./fill.ts";
import { isCleared, may } from "./oracle.ts";
import { callers, type Case, differs, pageOf, randomRead, randomWalk } from "./reads.ts";
import { View } from "./related.ts";
import { type Caller, find, keyOf, readState, type Row, type State } from "./state.ts";
import { type TableName, tableNames } from "./tables.ts";
import { turn } from "./turns.ts";
import { flatWrite, sceneOf, type WriteCase } from "./writes.ts";
import type { Work } from "./world.ts";

/** The kinds of faults. */
export type Fault = "leak" | "false refusal" | "wrong answer" | "wrong rows";

export interface Found {
  readonly fault: Fault;
  readonly seed: number;
  readonly index: number;
  readonly door: Door;
  readonly ask: Ask;
  readonly what: string;
}

/** The counts of the results of one operation through one door. */
export interface Cell {
  allowed: number;
  refused: number;
  leaks: number;
  falseRefusals: number;
  wrong: number;
}

/** The counts of all operations and doors, and all faults. */
export class Report {
  readonly cells = new Map<string, Cell>();
  readonly found: Found[] = [];
  requests = 0;
  /** The number of comparisons of a stream with a list. */
  quietPoints = 0;

  cell(operation: string, door: string): Cell {
    const key = `${operation} ${door}`;
    let cell = this.cells.get(key);
    if (cell === undefined) {
      cell = { allowed: 0, refused: 0, leaks: 0, falseRefusals: 0, wrong: 0 };
      this.cells.set(key, cell);
    }
    return cell;
  }

  add(found: Found): void {
    this.found.push(found);
    const cell = this.cell(found.ask.operation, found.door);
    if (found.fault === "leak") cell.leaks++;
    else if (found.fault === "false refusal") cell.falseRefusals++;
    else cell.wrong++;
  }
}

/** The texts that identify rows and withheld values. */
const marks = new RegExp(
  `\\b(${[...tableNames, "hush"].join("|")})#(\\d+)|\\b7000(\\d{3})\\b`,
  "g",
);

/** Returns the first text of an answer that its caller could read in none of the states. */
export function leaked(text: string, given: string, caller: Caller, states: readonly State[]) {
  for (const [mark, table, _id, budget] of text.matchAll(marks)) {
    if (given.includes(mark)) continue;
    if (table === "hush" || budget !== undefined) {
      if (!isCleared(caller)) return mark;
      continue;
    }
    // The expression has the names of the tables.
    const name = table as TableName;
    const isSeen = states.some((state) =>
      state[name].some((row) =>
        JSON.stringify(row).includes(mark) && may("read", state, caller, name, row)
      )
    );
    if (!isSeen) return mark;
  }
  return null;
}

interface Sent {
  readonly status: number;
  readonly door: Door;
  readonly answer: Answer;
}

/** Sends random requests through random doors, and evaluates the answers. */
export class Matrix {
  readonly report: Report;
  readonly doors: Doors;
  readonly #service: Service;
  #state: State | null = null;
  #seed = 0;
  #index = 0;
  #fresh = 100;
  #dice = new Dice(0);

  constructor(service: Service, works: Map<string, Work>, report = new Report()) {
    this.#service = service;
    this.doors = new Doors(service, works);
    this.report = report;
  }

  get dice(): Dice {
    return this.#dice;
  }

  /** Replaces all rows by random ones. */
  async begin(seed: number): Promise<void> {
    this.#seed = seed;
    this.#index = 0;
    this.#fresh = 100;
    this.#dice = new Dice(seed);
    this.doors.forgetViews();
    await refill(this.#service.db, this.#dice);
    await this.#service.app.reindex();
    this.#state = await readState(this.#service.db);
  }

  fresh = (): number => ++this.#fresh;

  async read(): Promise<void> {
    await this.#send(randomRead(this.#current(), this.#dice));
  }

  /** Follows a cursor while rights change. Sometimes another caller uses the cursor. */
  async walk(): Promise<void> {
    const dice = this.#dice;
    const walk = randomWalk(dice);
    let from: { cursor: string; row: Row } | null = null;
    for (let pages = 0; pages < 4; pages++) {
      const caller = from !== null && dice.once(5) ? dice.of(callers) : walk.caller;
      const view = new View(this.#current(), caller);
      const sent = await this.#send(pageOf(walk, view, from));
      const { items, nextCursor } = Object(sent?.answer.body);
      const shown = items?.at(-1);
      if (shown === undefined || typeof nextCursor !== "string") return;
      const row = find(this.#current(), walk.table, keyOf(walk.table, shown));
      if (row === undefined) return;
      from = { cursor: nextCursor, row };
      if (dice.once(3)) await this.turn();
    }
  }

  /** Changes rights by SQL, without the service. */
  async turn(): Promise<void> {
    await turn(this.#service.db, this.#current(), this.#dice, this.fresh);
    this.#state = await readState(this.#service.db);
  }

  async write(draw: (scene: ReturnType<typeof sceneOf>) => WriteCase = flatWrite): Promise<void> {
    const before = this.#current();
    const one = draw(sceneOf(before, this.#dice, this.fresh));
    const answer = await this.#send(one, one.after ?? before);
    const state = await readState(this.#service.db);
    this.#state = state;
    if (answer === null) return;
    const { status, door } = answer;
    const right = status < 300 && one.after !== null ? one.after : before;
    for (const table of tableNames) {
      const wrong = differs(state[table], right[table]);
      if (wrong === null) continue;
      const changed = diffRows(state[table], right[table]);
      const fault = one.after === null ? "leak" : "wrong rows";
      this.#note(fault, door, one.ask, `${status}: the rows of ${table} ${changed}`);
      break;
    }
  }

  /** The current rows. */
  get known(): State {
    return this.#current();
  }

  noteStream(fault: Fault, what: string): void {
    const ask: Ask = { operation: "list", table: "tasks", caller: null };
    this.report.found.push({
      ...{ fault, seed: this.#seed, index: this.#index, door: "http", ask },
      what: `stream: ${what}`,
    });
    const cell = this.report.cell("subscribe", "http");
    if (fault === "leak") cell.leaks++;
    else cell.wrong++;
  }

  #current(): State {
    if (this.#state === null) throw new Error("nothing has begun");
    return this.#state;
  }

  async #send(one: Case, after?: State): Promise<Sent | null> {
    this.#index++;
    this.report.requests++;
    const door = this.#dice.of(doorNames.filter((door) => passes(door, one.ask)));
    const ask = await this.#tagged(one.ask);
    let answer: Answer;
    try {
      answer = await this.doors.send(door, ask);
    } catch (error) {
      this.#note("wrong answer", door, ask, String(error));
      return null;
    }
    const { status, text } = answer;
    const cell = this.report.cell(ask.operation, door);
    if (status < 300) cell.allowed++;
    else cell.refused++;
    const isRight = one.statuses.includes(status);
    if (!isRight) {
      const right = one.statuses.some((each) => each < 300);
      const fault = right === status < 300 ? "wrong answer" : right ? "false refusal" : "leak";
      this.#note(fault, door, ask, `${status}, not ${one.statuses}: ${text.slice(0, 300)}`);
    } else if (status < 300) {
      const wrong = one.check(answer);
      if (wrong !== null) this.#note("wrong answer", door, ask, wrong);
    }
    const before = this.#current();
    const mark = leaked(text, JSON.stringify(ask), ask.caller, [before, after ?? before]);
    if (mark !== null) this.#note("leak", door, ask, `${mark} in ${status} ${text.slice(0, 300)}`);
    return { status, door, answer };
  }

  /** Replaces `current` by the ETag that the caller would read. */
  async #tagged(ask: Ask): Promise<Ask> {
    if (ask.ifMatch !== "current") return ask;
    const headers: Record<string, string> = ask.caller === null ? {} : { [userHeader]: ask.caller };
    const { headers: got } = await this.#service.get(`/api/${ask.table}/${ask.key}`, headers);
    return { ...ask, ifMatch: got.get("etag") ?? 'W/"1"' };
  }

  #note(fault: Fault, door: Door, ask: Ask, what: string): void {
    this.report.add({ fault, seed: this.#seed, index: this.#index, door, ask, what });
  }
}

function diffRows(got: readonly Row[], right: readonly Row[]): string {
  const texts = (rows: readonly Row[]) => rows.map((row) => JSON.stringify(row));
  const [left, other] = [texts(got), texts(right)];
  return `have ${left.filter((one) => !other.includes(one))} and lack ${
    other.filter((one) => !left.includes(one))
  }`;
}
