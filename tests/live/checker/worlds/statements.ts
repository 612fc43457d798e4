import { hiddenMark } from "../../../support/http.ts";
import type { Chance } from "../chance.ts";

/** What stands in rows that are taken back. */
export const undoneMark = "undone-";

const people = ["u1", "u2", "u3", null] as const;
const scores = [
  ...["0.1", "0.3", "0.30000000000000004", "0.3333333333333333", "1.0/3", "0.1+0.2", "-0.0000001"],
  ...["2.5", "123456789.12345679", "1e21", "5e-324", "0.1", "NULL"],
];
const prices = ["0.10", "1.50", "1.49", "999999999.99", "-3.05", "NULL"];
const fars = ["1", "-2", "9007199254740993", "9223372036854775807", "NULL"];

/** So few rows that most writes meet some. */
const counts = { projects: 5, items: 36, notes: 30, tags: 6, itemTags: 24 };

/** SQL with its values in it, so that any program can run it. */
export class Statements {
  readonly #chance: Chance;
  readonly #isSqlite: boolean;
  /** Every text is another one, so that a text that was read shows when it was written. */
  #texts = 0;

  /** For one engine. */
  constructor(chance: Chance, engine: "sqlite" | "postgres") {
    this.#chance = chance;
    this.#isSqlite = engine === "sqlite";
  }

  /** What a world begins with. */
  first(): readonly string[] {
    const statements: string[] = [];
    for (let id = 1; id <= counts.projects; id++) {
      statements.push(`INSERT INTO projects VALUES (${id}, ${this.#person()}, ${this.#text("p")})`);
    }
    for (let id = 1; id <= counts.tags; id++) statements.push(this.#insertTag(id));
    for (let id = 1; id <= 20; id++) statements.push(this.#insertItem(id, ""));
    for (let id = 1; id <= 15; id++) statements.push(this.#note(id));
    for (let id = 1; id <= 10; id++) statements.push(this.#link(id));
    return statements;
  }

  /** One statement, which may come to nothing. */
  any(): string {
    const place = this.#chance.weighted({
      items: 12,
      notes: 4,
      projects: 2,
      tags: 1,
      links: 3,
    });
    return this[place]();
  }

  /** Statements that leave nothing, for use within what is rolled back. */
  undone(): readonly string[] {
    return [
      `UPDATE items SET title = '${undoneMark}a' WHERE id < 20`,
      `INSERT INTO tags VALUES (${900 + this.#chance.below(9)}, NULL, '${undoneMark}b')`,
      `UPDATE notes SET body = '${undoneMark}c' WHERE id % 3 = 0`,
    ].slice(this.#chance.below(3));
  }

  /**
   * Rows that a user may see only until they belong to another user: the rows of a project are
   * renamed twice, and then have another owner.
   */
  handover(): readonly string[] {
    const project = this.#id("projects");
    const rename = (word: string) =>
      Array.from(
        { length: 1 + this.#chance.below(4) },
        () =>
          `UPDATE items SET title = ${this.#text(word)} || '-' || id WHERE project_id = ${project}`,
      );
    const owner = this.#chance.pick(people.slice(0, 3));
    return [
      `UPDATE projects SET owner_id = 'u3' WHERE id = ${project}`,
      ...rename("secret"),
      ...rename("clean"),
      `UPDATE projects SET owner_id = '${owner}' WHERE id = ${project}`,
    ];
  }

  items(): string {
    const chance = this.#chance;
    const id = this.#id("items");
    const path = chance.weighted({
      ...{ edit: 14, some: 3, insert: 5, upsert: 3, remove: 3, key: 2, move: 4, give: 3 },
      ...{ replace: this.#isSqlite ? 3 : 0, replaceBySlot: this.#isSqlite ? 2 : 0 },
    });
    switch (path) {
      case "edit":
        return `UPDATE items SET ${this.#settings()} WHERE id = ${id}`;
      case "some":
        return `UPDATE items SET title = ${this.#text("some")} || '-' || id${
          chance.once(2) ? `, score = ${this.#score()}` : ""
        } WHERE id % 3 = ${chance.below(3)}`;
      case "insert":
        return this.#insertItem(id, " ON CONFLICT DO NOTHING");
      case "upsert":
        return this.#insertItem(
          id,
          " ON CONFLICT (id) DO UPDATE SET title = excluded.title, size = excluded.size",
        );
      case "remove":
        return `DELETE FROM items WHERE id = ${id}`;
      case "key":
        return `UPDATE items SET id = ${this.#id("items")} WHERE id = ${id}`;
      case "move":
        return `UPDATE items SET project_id = ${this.#project()} WHERE id = ${id}`;
      case "give":
        return `UPDATE items SET owner_id = ${this.#person()}, title = ${
          this.#text("given")
        } WHERE id = ${id}`;
      case "replace":
        return this.#insertItem(id, "").replace("INSERT", "INSERT OR REPLACE");
      case "replaceBySlot":
        return `UPDATE OR REPLACE items SET slot = ${chance.below(9)} WHERE id = ${id}`;
    }
  }

  notes(): string {
    const id = this.#id("notes");
    switch (this.#chance.weighted({ insert: 4, edit: 5, show: 3, move: 3, remove: 2 })) {
      case "insert":
        return this.#note(id);
      case "edit":
        return `UPDATE notes SET body = ${this.#text("n")} WHERE id = ${id}`;
      case "show":
        return `UPDATE notes SET visible_to = ${this.#person()} WHERE id = ${id}`;
      case "move":
        return `UPDATE notes SET item_id = (SELECT max(id) FROM items WHERE id <= ${
          this.#id("items")
        }) WHERE id = ${id}`;
      case "remove":
        return `DELETE FROM notes WHERE id = ${id}`;
    }
  }

  projects(): string {
    const id = this.#id("projects");
    switch (this.#chance.weighted({ give: 5, rename: 3, insert: 2, remove: 1 })) {
      case "give":
        return `UPDATE projects SET owner_id = ${this.#person()} WHERE id = ${id}`;
      case "rename":
        return `UPDATE projects SET name = ${this.#text("p")} WHERE id = ${id}`;
      case "insert":
        return `INSERT INTO projects VALUES (${id}, ${this.#person()}, ${
          this.#text("p")
        }) ON CONFLICT DO NOTHING`;
      case "remove":
        return `DELETE FROM projects WHERE id = ${id}`;
    }
  }

  tags(): string {
    const id = this.#id("tags");
    return this.#chance.once(2)
      ? `UPDATE tags SET label = ${this.#text("t")} WHERE id = ${id}`
      : `UPDATE tags SET visible_to = ${this.#person()} WHERE id = ${id}`;
  }

  links(): string {
    const id = this.#id("itemTags");
    switch (this.#chance.weighted({ insert: 4, move: 2, show: 2, remove: 2 })) {
      case "insert":
        return this.#link(id);
      case "move":
        return `UPDATE item_tags SET tag_id = ${this.#id("tags")} WHERE id = ${id}`;
      case "show":
        return `UPDATE item_tags SET visible_to = ${this.#person()} WHERE id = ${id}`;
      case "remove":
        return `DELETE FROM item_tags WHERE id = ${id}`;
    }
  }

  /** A text that was not there before. */
  text(word: string): string {
    return `${word}-${++this.#texts}`;
  }

  #insertItem(id: number, rest: string): string {
    return `INSERT INTO items (id, project_id, owner_id, title, score, size, price, flag, far, slot,
      secret) VALUES (${id}, ${this.#project()}, ${this.#person()}, ${this.#text("new")},
      ${this.#score()}, ${this.#chance.below(9)}, ${this.#price()}, ${this.#flag()}, ${
      this.#chance.pick(fars)
    },
      NULL, '${hiddenMark}1')${rest}`;
  }

  #settings(): string {
    const some = this.#chance.sample([
      () => `title = ${this.#text("t")}`,
      () => `score = ${this.#score()}`,
      () => `size = ${this.#chance.pick(["0", "3", "4", "5", "8", "NULL"])}`,
      () => `price = ${this.#price()}`,
      () => `flag = ${this.#flag()}`,
      () => `far = ${this.#chance.pick(fars)}`,
      () => `secret = '${hiddenMark}${this.#chance.below(9)}'`,
    ], 1 + this.#chance.below(3));
    return some.map((write) => write()).join(", ");
  }

  #insertTag(id: number): string {
    return `INSERT INTO tags VALUES (${id}, ${this.#person()}, ${this.#text("t")})`;
  }

  #note(id: number): string {
    return `INSERT INTO notes SELECT ${id}, max(id), ${this.#person()}, ${
      this.#text("n")
    } FROM items WHERE id <= ${this.#id("items")} ON CONFLICT DO NOTHING`;
  }

  #link(id: number): string {
    return `INSERT INTO item_tags (id, item_id, tag_id, visible_to) VALUES (${id}, ${
      this.#id("items")
    }, ${this.#id("tags")}, ${this.#person()}) ON CONFLICT DO NOTHING`;
  }

  #id(place: keyof typeof counts): number {
    return 1 + this.#chance.below(counts[place]);
  }

  #project(): string {
    return this.#chance.once(8) ? "NULL" : String(this.#id("projects"));
  }

  #person(): string {
    const person = this.#chance.pick(people);
    return person === null ? "NULL" : `'${person}'`;
  }

  #text(word: string): string {
    return `'${this.text(word)}'`;
  }

  #score(): string {
    return this.#chance.pick(scores);
  }

  #price(): string {
    return this.#chance.pick(prices);
  }

  #flag(): string {
    const flag = this.#chance.pick(["1", "0", "NULL"]);
    if (this.#isSqlite || flag === "NULL") return flag;
    return flag === "1" ? "true" : "false";
  }
}
