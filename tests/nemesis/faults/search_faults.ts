/** Faults of an OpenSearch that responds, but wrongly. */
import { sleep } from "../../../src/runtime/runtime.ts";
import type { Fault as Lie } from "../../search/faulty_proxy.ts";
import type { World } from "../world.ts";
import type { Fault } from "./fault.ts";

const users = ["ada", "bob"] as const;
const words = ["alpha", "beta"] as const;
const maxId = 60;

/** Each function begins a new lie, so that a lie remembers nothing of an earlier round. */
const lies: Readonly<Record<string, () => Lie>> = {
  "wrong hits": () => changedSearch((found) => withHits(found, [...everyId, "no key", "999999"])),
  "wrong totals": () =>
    changedSearch((found) => ({
      ...found,
      hits: { ...found.hits, total: { value: 1_000_000, relation: "eq" } },
    })),
  "the same full page again and again": () =>
    changedSearch((found) => withHits(found, Array.from({ length: 10_000 }, () => "1"))),
  "old responses": () => {
    let old: unknown = null;
    return changedSearch((found) => old ??= found);
  },
  "errors with status 200": () => ({ url }) =>
    Promise.resolve(
      url.includes("/_bulk")
        ? Response.json({ took: 1, errors: true, items: [{ index: refused }] })
        : url.includes("/_search")
        ? Response.json({ ...refused, status: 429 })
        : null,
    ),
  "shards that failed": () =>
    changedSearch((found) => ({ ...found, _shards: { total: 1, successful: 0, failed: 1 } })),
  "truncated JSON": () => async (_request, answer) => {
    const text = JSON.stringify(await answer());
    const headers = { "content-type": "application/json" };
    return new Response(text.slice(0, text.length / 2), { headers });
  },
};

const refused = { status: 429, error: { type: "rejected_execution_exception" } };
const everyId = Array.from({ length: maxId }, (_one, at) => String(at + 1));

/** A response of a search, as far as a lie changes it. */
interface Found {
  readonly hits: Readonly<Record<string, unknown>>;
}

function changedSearch(change: (found: Found) => unknown): Lie {
  return async ({ url }, answer) =>
    // The cast is safe: only the service asks, and the server has responded to its search.
    url.includes("/_search") ? Response.json(change(await answer() as Found)) : null;
}

function withHits(found: Found, ids: readonly string[]): unknown {
  const hits = ids.map((id) => ({ _id: id, _score: 1, sort: [1, id] }));
  return { ...found, hits: { ...found.hits, hits } };
}

export const searchFaults: readonly Fault[] = Object.entries(lies).map(([name, lie]) => ({
  name: `OpenSearch lies: ${name}`,
  engines: ["sqlite", "postgres"],
  needs: "search",
  run: (world) => new LiedTo(world).run(lie()),
}));

/** One user's notes with a word, as the database has them or as a search finds them. */
type Notes = ReadonlySet<string>;

class LiedTo {
  readonly #world: World;

  constructor(world: World) {
    this.#world = world;
  }

  async run(lie: Lie): Promise<void> {
    const { search, hold } = this.#world;
    if (search === null) throw new Error("This fault needs OpenSearch");
    let isOver = false;
    search.fault = lie;
    const holding = hold(4_000).then(() => isOver = true);
    while (!isOver) {
      await this.#write();
      await this.#searchOnce();
      await sleep(20);
    }
    await holding;
    search.fault = null;
    await this.#untilFound();
  }

  /** Writes a note. No lie of the search fails a write. */
  async #write(): Promise<void> {
    const { chance, members, requests, wrong } = this.#world;
    const id = 1 + chance.below(maxId);
    const title = `${chance.pick(words)} ${chance.below(1_000_000)}`;
    const [method, path, body] = chance.pick(
      [
        ["POST", "/api/notes", { id, ownerId: chance.pick(users), title }],
        ["POST", "/api/notes", { id, ownerId: chance.pick(users), title }],
        ["PATCH", `/api/notes/${id}`, { title }],
        ["DELETE", `/api/notes/${id}`, undefined],
      ] as const,
    );
    // Only owners see a note, and so only an owner can change or delete it.
    const sent = { user: chance.pick(users), body };
    const response = await requests.send(chance.pick(members), method, path, sent);
    if (response?.status === 503 && response.text.includes("search")) {
      wrong(`${method} ${path}: ${response.text}`);
    }
  }

  /** Every found note is a row that its user may read, and the total counts exactly these rows. */
  async #searchOnce(): Promise<void> {
    const { chance, wrong } = this.#world;
    const user = chance.pick(users);
    const word = chance.pick(words);
    const before = await this.#notesOf(user, "");
    const found = await this.#search(user, word);
    if (found === null) return;
    const after = await this.#notesOf(user, "");
    for (const note of found.notes) {
      if (!before.has(note) && !after.has(note)) wrong(`a search of ${user} finds ${note}`);
    }
    if (found.total !== found.notes.size) {
      wrong(`a search of ${user} counts ${found.total} notes, and lists ${found.notes.size}`);
    }
  }

  /** Null if the response is a 503, or is missing. */
  async #search(
    user: string,
    word: string,
    member = this.#world.chance.pick(this.#world.members),
  ): Promise<{ readonly notes: Notes; readonly total: number } | null> {
    const path = `/api/notes/search?q=${word}&limit=100`;
    const response = await this.#world.requests.send(member, "GET", path, { user });
    if (response?.status !== 200) return null;
    const { items, total } = JSON.parse(response.text);
    return { notes: printNotes(items), total };
  }

  async #notesOf(user: string, word: string): Promise<Notes> {
    const rows = await this.#world.place.query(
      `SELECT id, owner_id AS "ownerId", title FROM notes
        WHERE owner_id = '${user}' AND title LIKE '${word}%'`,
    );
    return printNotes(rows);
  }

  /** Once the server responds correctly again, each service finds every note, without a restart. */
  async #untilFound(): Promise<void> {
    const { members, recoveryLimitMs, wrong } = this.#world;
    const until = performance.now() + recoveryLimitMs;
    for (const member of members) {
      for (const user of users) {
        for (const word of words) {
          const notes = await this.#notesOf(user, word);
          for (;;) {
            const found = await this.#search(user, word, member);
            if (found !== null && found.notes.symmetricDifference(notes).size === 0) break;
            if (performance.now() > until) {
              const list = found === null ? "nothing" : [...found.notes].join(", ");
              wrong(`a search of ${user} for ${word} finds ${list} of ${[...notes].join(", ")}`);
              break;
            }
            await sleep(100);
          }
        }
      }
    }
  }
}

function printNotes(rows: readonly Readonly<Record<string, unknown>>[]): Notes {
  return new Set(rows.map(({ id, ownerId, title }) => `${id} of ${ownerId}: ${title}`));
}
