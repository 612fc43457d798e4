import type { Connection } from "../../../exports/driver.ts";
import { tableInfoOf } from "../../../src/schema/table_like.ts";
import type { EventStream, ServerEvent } from "../../support/event_stream.ts";
import { type Dice, diceOf } from "./dice.ts";
import { ruleOf } from "./filter_rule.ts";
import { textOf } from "./filter_text.ts";
import { type Case, engineOf, type Stand } from "./cases.ts";
import { passing } from "./found.ts";
import { model, type TableName, tableNames } from "./model.ts";
import { randomRows, type Row } from "./rows.ts";
import { tableOf } from "./tables.ts";
import { randomTree, sizeOf, type Tree } from "./tree.ts";

/** What a run has compared. */
export interface StreamTotals {
  streams: number;
  writes: number;
  comparisons: number;
  /** Events after the rows of the start. */
  events: number;
  readonly differences: string[];
}

export function noStreamTotals(): StreamTotals {
  return { streams: 0, writes: 0, comparisons: 0, events: 0, differences: [] };
}

/** The longest wait for a stream, which is the whole wait only if the test fails. */
const waitLimitMs = 20_000;

/** Compares what streams with random scopes and filters show, after random writes. */
export async function checkStreams(
  stand: Stand,
  { seed, streams, rounds }: { seed: number; streams: number; rounds: number },
  totals: StreamTotals,
): Promise<void> {
  const dice = diceOf(seed);
  const shown: Shown[] = [];
  while (shown.length < streams) {
    const opened = await Shown.open(stand, randomStream(dice), dice(2 ** 31));
    if (opened !== null) shown.push(opened);
  }
  totals.streams += streams;
  try {
    for (let round = 0; round < rounds; round++) {
      totals.writes += await writeSome(stand, dice);
      for (const stream of shown) {
        const difference = await stream.difference();
        totals.comparisons++;
        if (difference === null) continue;
        totals.differences.push(`seed ${seed}, round ${round}: ${difference}`);
        return;
      }
    }
  } finally {
    for (const stream of shown) totals.events += await stream.close();
  }
}

interface StreamCase {
  readonly table: TableName;
  readonly scope: Tree;
  /** Of the request: streams take no relations. */
  readonly filter: Tree | null;
  /** A stream of the number of rows, instead of the rows. */
  readonly isCount: boolean;
}

function randomStream(dice: Dice): StreamCase {
  const table = dice.pick(tableNames);
  const code = dice.chance(0.2);
  const scope = randomTree(dice, table, { steps: dice(4), depth: 1 + dice(3), code });
  const plain = { steps: 0, depth: 1 + dice(3), code: false };
  const filter = dice.chance(0.5) ? randomTree(dice, table, plain) : null;
  return sizeOf(scope).walks > 16
    ? randomStream(dice)
    : { table, scope, filter, isCount: dice.chance(0.2) };
}

/** A stream, and the rows that its client holds. */
class Shown {
  readonly #stand: Stand;
  readonly #case: StreamCase;
  readonly #user: string;
  readonly #text: string;
  readonly #stream: EventStream;
  readonly #rows = new Map<string, Row>();
  readonly #reading: Promise<void>;
  #count: number | null = null;
  #events = 0;
  #isClosed = false;
  #ended: string | null = null;
  #wake = () => {};

  private constructor(
    stand: Stand,
    streamCase: StreamCase,
    { user, text, stream }: { user: string; text: string; stream: EventStream },
  ) {
    this.#stand = stand;
    this.#case = streamCase;
    this.#user = user;
    this.#text = text;
    this.#stream = stream;
    this.#reading = this.#read();
  }

  /** Null for a scope that allows nothing at all. */
  static async open(stand: Stand, streamCase: StreamCase, seed: number): Promise<Shown | null> {
    const { table, scope, filter } = streamCase;
    const dice = diceOf(seed);
    const user = `stream ${seed}`;
    const rule = ruleOf(scope, table, dice);
    const text = filter === null ? "" : textOf(filter, dice);
    stand.scopes.set(user, { table, access: "read", rule });
    const route = streamCase.isCount ? "aggregate/subscribe?count=true&" : "subscribe?";
    const path = `/api/${table}/${route}filter=${encodeURIComponent(text)}`;
    try {
      const stream = await stand.subscribe(path, { "x-user": user });
      return new Shown(stand, streamCase, { user, text, stream });
    } catch (error) {
      stand.scopes.delete(user);
      if (String(error).includes("No stream: 403")) return null;
      throw error;
    }
  }

  async #read(): Promise<void> {
    try {
      for (let event = await this.#next(); event !== null; event = await this.#next()) {
        this.#take(event);
        this.#wake();
      }
      this.#ended = "the stream has ended";
    } catch (error) {
      this.#ended = String(error);
    }
    this.#wake();
  }

  #next(): Promise<ServerEvent | null> {
    return this.#isClosed ? Promise.resolve(null) : this.#stream.next();
  }

  #take({ type, data }: ServerEvent): void {
    const keyOf = (row: Row) =>
      JSON.stringify(model[this.#case.table].key.map((name) => row[name]));
    if (type === "existing") { for (const row of data.items) this.#rows.set(keyOf(row), row); }
    else this.#events++;
    if (type === "added" || type === "changed") this.#rows.set(keyOf(data.item), data.item);
    if (type === "removed") this.#rows.delete(JSON.stringify([data.id].flat()));
    if (type === "invalidate") this.#rows.clear();
    if (type === "aggregate") this.#count = data.groups[0].count;
  }

  /** Waits until the client holds the rows of the list; null where it does. */
  async difference(): Promise<string | null> {
    const { table, scope, filter, isCount } = this.#case;
    const { db, get } = this.#stand;
    const tree: Tree = filter === null ? scope : { kind: "and", terms: [scope, filter] };
    const asked: Omit<Case, "form" | "seed"> = { table, tree, reader: "", scope: null };
    const { keys } = await passing(db.driver, engineOf(db), asked);
    const path = `/api/${table}?limit=50&filter=${encodeURIComponent(this.#text)}`;
    const { body } = await get(path, { "x-user": this.#user });
    const listed: readonly Row[] = body.items;
    const key = (row: Row) => model[table].key.map((name) => row[name]);
    const expected = isCount ? String(keys.length) : JSON.stringify(sorted(listed));
    const ofList = JSON.stringify(listed.map(key).sort());
    if (ofList !== JSON.stringify(keys)) return this.#describe(JSON.stringify(keys), ofList);
    const deadline = performance.now() + waitLimitMs;
    while (this.#shown() !== expected) {
      const left = deadline - performance.now();
      if (this.#ended !== null || left <= 0) return this.#describe(expected, this.#shown());
      await this.#waitForEvent(left);
    }
    return null;
  }

  #shown(): string {
    if (this.#case.isCount) return String(this.#count);
    return JSON.stringify(sorted([...this.#rows.values()]));
  }

  async #waitForEvent(ms: number): Promise<void> {
    let timer: ReturnType<typeof setTimeout> | undefined;
    await new Promise<void>((resolve) => {
      this.#wake = resolve;
      timer = setTimeout(resolve, ms);
    });
    clearTimeout(timer);
  }

  #describe(expected: string, actual: string): string {
    return `${JSON.stringify(this.#case)}, expected ${expected}, actual ${actual} ${
      this.#ended ?? ""
    }`;
  }

  /** How many events have come. */
  async close(): Promise<number> {
    this.#isClosed = true;
    this.#stand.scopes.delete(this.#user);
    await this.#stream.close().catch(() => {});
    await this.#reading;
    return this.#events;
  }
}

function sorted(rows: readonly Row[]): readonly string[] {
  return rows.map((row) => JSON.stringify(Object.entries(row).sort())).sort();
}

/** Some writes in one transaction, past the service; how many. */
async function writeSome({ db }: Stand, dice: Dice): Promise<number> {
  const count = 1 + dice(6);
  await db.driver.transaction(async (connection) => {
    for (let left = count; left > 0; left--) await writeOne(connection, dice, db.driver.dialect);
  });
  return count;
}

async function writeOne(
  connection: Connection,
  dice: Dice,
  dialect: Stand["db"]["driver"]["dialect"],
): Promise<void> {
  const table = dice.pick(tableNames);
  const rows = randomRows(dice)[table];
  if (rows.length === 0) return;
  const row = dice.pick(rows);
  const columns = tableInfoOf(tableOf(table)).columns;
  const values: ReturnType<typeof dialect.encode>[] = [];
  const bound = (name: string) => {
    const column = columns.find((column) => column.name === name)!;
    values.push(dialect.encode(row[name], column));
    return dialect.placeholder(values.length);
  };
  const { key } = model[table];
  const quoted = (name: string) => `"${columns.find((column) => column.name === name)!.dbName}"`;
  const own = () => key.map((name) => `${quoted(name)} = ${bound(name)}`).join(" AND ");
  const kind = dice(6);
  if (kind === 0) {
    const text = `DELETE FROM "${table}" WHERE ${own()}`;
    await connection.query({ text, values });
    return;
  }
  if (kind <= 2) {
    const names = Object.keys(row);
    const places = names.map(bound);
    const text = `INSERT INTO "${table}" (${names.map(quoted)}) VALUES (${places})
      ON CONFLICT (${key.map(quoted)}) DO NOTHING`;
    await connection.query({ text, values });
    return;
  }
  // The number of a document changes with it.
  const others = Object.keys(row).filter((name) =>
    !key.includes(name) && (name === "data" || name === "docNo" || dice.chance(0.5))
  );
  const changes = others.map((name) => `${quoted(name)} = ${bound(name)}`);
  if (changes.length === 0) return;
  await connection.query({ text: `UPDATE "${table}" SET ${changes} WHERE ${own()}`, values });
}
