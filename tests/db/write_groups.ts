/** Random groups of writes of single rows, for {@link checkGroups}. */
import type { Chance } from "../live/checker/chance.ts";

/**
 * Three tables that refuse writes in every way: `items` at once and when a transaction ends, `notes`
 * by triggers as well, and `parents` while rows refer to them.
 */
export const groupTables = `
CREATE TABLE parents (id int PRIMARY KEY, name varchar(8) UNIQUE);
CREATE TABLE items (
  id int PRIMARY KEY,
  owner text NOT NULL,
  code text UNIQUE,
  n smallint NOT NULL DEFAULT 0 CHECK (n >= 0),
  title varchar(8),
  parent int REFERENCES parents,
  later int UNIQUE DEFERRABLE INITIALLY DEFERRED,
  peer int REFERENCES items DEFERRABLE INITIALLY DEFERRED,
  version int NOT NULL DEFAULT 1
);
CREATE TABLE notes (
  id int PRIMARY KEY,
  item int REFERENCES items ON DELETE CASCADE,
  body text NOT NULL,
  EXCLUDE USING btree (body WITH =) WHERE (body LIKE 'only%')
);
CREATE FUNCTION refuse() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN
  CASE NEW.title
    WHEN 'plain' THEN RAISE EXCEPTION 'no'; --
    WHEN 'PT402' THEN RAISE EXCEPTION 'pay' USING ERRCODE = 'PT402'; --
    WHEN 'unique' THEN RAISE EXCEPTION 'no' USING ERRCODE = 'unique_violation'; --
    WHEN 'zero' THEN PERFORM 1 / (NEW.id - NEW.id); --
    WHEN 'upper' THEN NEW.title := 'UPPER'; --
    ELSE NULL; --
  END CASE; --
  RETURN NEW; --
END $$;
CREATE TRIGGER refuses BEFORE INSERT OR UPDATE ON items FOR EACH ROW EXECUTE FUNCTION refuse();
CREATE FUNCTION refuse_late() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN
  IF EXISTS (SELECT FROM notes WHERE id = NEW.id AND body = 'late') THEN
    RAISE EXCEPTION 'too late' USING ERRCODE = 'PT409'; --
  END IF; --
  RETURN NULL; --
END $$;
CREATE CONSTRAINT TRIGGER late AFTER INSERT OR UPDATE ON notes DEFERRABLE INITIALLY DEFERRED
  FOR EACH ROW EXECUTE FUNCTION refuse_late()`;

/** The tables, those first to which the others refer. */
export const groupTableNames = ["parents", "items", "notes"] as const;
type TableName = typeof groupTableNames[number];
type Value = string | number | null;
type Values = Readonly<Record<string, Value>>;

/** A write of one row. */
export interface SingleWrite {
  readonly method: "POST" | "PATCH" | "DELETE";
  readonly path: string;
  readonly user: string;
  readonly body?: Values;
  readonly ifMatch?: string;
}

/** Rows of the tables, and writes that begin at the same time. */
export interface WriteGroup {
  readonly rows: Readonly<Record<TableName, readonly Values[]>>;
  /**
   * The writes, in parts that touch no common row and no common value of a unique column. Writes of
   * different parts have the same outcome in every order.
   */
  readonly parts: readonly (readonly SingleWrite[])[];
}

/** The maximum number of writes in a part, whose orders are all tried. */
const maxWritesOfPart = 4;
/** Each part has this many keys of each table, and as many values of each unique column. */
const keysOfPart = 20;

/** Returns the part that the row with a key belongs to. */
export function partOf(key: number): number {
  return Math.floor(key / keysOfPart);
}

/** Draws a group of 2 to 40 writes, more often of few. */
export function randomGroup(chance: Chance): WriteGroup {
  const count = 2 + Math.min(...range(5).map(() => chance.below(39)));
  // The database refuses no write of most groups: after many failures, writes would run alone.
  const faults = chance.once(3) ? chance.pick([3, 10, 30]) : 0;
  const rows = { parents: [] as Values[], items: [] as Values[], notes: [] as Values[] };
  const parts: SingleWrite[][] = [];
  for (let left = count; left > 0;) {
    const part = new Part(chance, parts.length, faults);
    for (const name of groupTableNames) rows[name].push(...part.rows[name]);
    const size = Math.min(left, 1 + Math.min(chance.below(maxWritesOfPart), chance.below(5)));
    parts.push(part.writes(size));
    left -= size;
  }
  return { rows, parts };
}

/** The rows and the writes of one part. */
class Part {
  readonly rows: Readonly<Record<TableName, readonly Values[]>>;
  readonly #chance: Chance;
  readonly #first: number;
  /** One write in this many is likely to be refused by the database, or none for 0. */
  readonly #faults: number;
  /** The number of new keys and values, which are all different if no write may be refused. */
  #new = 0;

  constructor(chance: Chance, index: number, faults: number) {
    this.#chance = chance;
    this.#first = index * keysOfPart;
    this.#faults = faults;
    const some = () => range(3).filter(() => !chance.once(3)).map((n) => this.#first + n);
    const parents = some();
    const items = some();
    this.rows = {
      parents: parents.map((id) => ({ id, name: `p${id}` })),
      items: items.map((id) => ({
        id,
        owner: chance.once(4) ? "bob" : "ada",
        code: chance.once(2) ? `c${id}` : null,
        n: chance.below(3),
        title: null,
        parent: parents.length > 0 && chance.once(2) ? chance.pick(parents) : null,
        later: chance.once(2) ? id : null,
        peer: faults > 0 && chance.once(4) ? chance.pick(items) : null,
        version: 1 + chance.below(2),
      })),
      notes: some().map((id) => ({
        id,
        item: items.length > 0 && chance.once(2) ? chance.pick(items) : null,
        body: `b${id}`,
      })),
    };
  }

  /** Draws so many writes. */
  writes(size: number): SingleWrite[] {
    const chance = this.#chance;
    if (this.#faults > 0 && size > 1 && chance.once(8)) return this.#swap();
    const writes: SingleWrite[] = [];
    while (writes.length < size) {
      const last = writes.at(-1);
      const isAgain = last !== undefined && chance.once(4) &&
        (this.#faults > 0 || last.method !== "POST");
      writes.push(isAgain ? last : this.#write());
    }
    return writes;
  }

  /** Two writes that each alone breaks a constraint that is checked when its transaction ends. */
  #swap(): SingleWrite[] {
    const chance = this.#chance;
    const column = chance.pick(["later", "peer"]);
    const [one = 0, other = 0] = [this.#first, this.#first + 1];
    const method = chance.pick(["POST", "PATCH"] as const);
    return [[one, other], [other, one]].map(([id = 0, value = 0]): SingleWrite => {
      const user = chance.once(4) ? "bob" : "ada";
      return method === "PATCH"
        ? { method, path: `items/${id}`, user, body: { [column]: value } }
        : { method, path: "items", user, body: { id, owner: user, [column]: value } };
    });
  }

  #write(): SingleWrite {
    const chance = this.#chance;
    const table = chance.weighted({ items: 4, notes: 2, parents: 1 });
    const mayDelete = this.#faults > 0 || table !== "parents";
    const method = chance.weighted({ POST: 2, PATCH: 4, DELETE: mayDelete ? 1 : 0 });
    const user = chance.once(6) ? "bob" : "ada";
    const given = this.#values(table, user);
    const known = this.rows[table].map(({ id }) => Number(id));
    if (method === "POST") {
      const isTaken = known.length > 0 && this.#isFault();
      const id = isTaken ? chance.pick(known) : this.#first + 3 + this.#newNumber(4);
      return { method, path: table, user, body: { id, ...required[table](id, user), ...given } };
    }
    const id = known.length === 0 || chance.once(10)
      ? this.#first + chance.below(4)
      : chance.pick(known);
    const path = `${table}/${id}`;
    const tag = table === "items" && chance.once(2)
      ? { ifMatch: chance.pick(['W/"1"', 'W/"2"', 'W/"3"', 'W/"1", W/"2"', "*"]) }
      : {};
    return method === "DELETE"
      ? { method, path, user, ...tag }
      : { method, path, user, body: given, ...tag };
  }

  /** Values for some columns of a row, one of which may break a rule of the table. */
  #values(table: TableName, user: string): Values {
    const chance = this.#chance;
    const key = () => this.#first + chance.below(4);
    const of = (name: TableName) =>
      chance.pick([null, ...this.rows[name].map(({ id }) => id ?? null)]);
    const valid: Readonly<Record<TableName, Values>> = {
      parents: { name: `q${this.#first + this.#newNumber(3)}` },
      items: chance.pick<Values>([
        { n: chance.below(9) },
        { title: chance.pick(["a", "b", "upper"]), parent: of("parents") },
        { n: chance.below(9), peer: this.#faults > 0 ? of("items") : null },
        { code: chance.once(2) ? null : `d${this.#first + this.#newNumber(3)}`, n: 1 },
        { owner: user, later: null },
      ]),
      notes: chance.pick<Values>([
        { body: "new" },
        { item: this.#faults > 0 ? of("items") : null, body: `n${key()}` },
      ]),
    };
    if (!this.#isFault()) return valid[table];
    const faulty: Readonly<Record<TableName, readonly Values[]>> = {
      parents: [{ name: "too long a name" }, { name: `p${key()}` }],
      items: [
        { n: -1 },
        { n: 40_000 },
        { n: null },
        { code: `c${key()}` },
        { title: "too long a title" },
        { title: chance.pick(["plain", "PT402", "unique", "zero"]) },
        { parent: key() },
        { parent: this.#first + 9 },
        { later: key() },
        { peer: this.#first + 9 },
        { owner: user === "ada" ? "bob" : "ada" },
      ],
      notes: [
        { item: this.#first + 9 },
        { item: key() },
        { body: null },
        { body: "late" },
        { body: `only${this.#first}` },
      ],
    };
    return { ...valid[table], ...chance.pick(faulty[table]) };
  }

  /** Returns a number for a new key or value. If writes may be refused, it may come again. */
  #newNumber(count: number): number {
    return this.#faults > 0 ? this.#chance.below(count) : this.#new++;
  }

  #isFault(): boolean {
    return this.#faults > 0 && this.#chance.once(this.#faults);
  }
}

/** The columns that a new row must have. */
const required: Readonly<Record<TableName, (id: number, user: string) => Values>> = {
  parents: () => ({}),
  items: (_id, owner) => ({ owner }),
  notes: (id) => ({ body: `m${id}` }),
};

/** Returns the numbers from 0. */
function range(count: number): readonly number[] {
  return Array.from({ length: count }, (_, index) => index);
}
