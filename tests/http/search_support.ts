import { assertEquals } from "@std/assert";
import { all, eq, integer, resource, table, text, timestamp, type User } from "../../mod.ts";
import { databaseSearch, memorySearch, type SearchAdapter } from "../../exports/search.ts";
import { type Engine, engines, everyEngine } from "../support/engines.ts";
import { hiddenMark, type Service, withService } from "../support/http.ts";
import { testUnless } from "../support/skip.ts";

/** Notes of owners, with a column that is hidden and one that marks deleted rows. */
export const notes = table("notes", {
  id: integer().primaryKey(),
  ownerId: text().notNull().as("owner_id"),
  title: text().notNull(),
  body: text(),
  secret: text(),
  deletedAt: timestamp().as("deleted_at"),
});

/** The fields of a note that a test sets. */
export type Note = Partial<typeof notes.$inferInsert> & { readonly id: number };

/** An engine of search over an engine of databases. */
export interface SearchEngine {
  readonly name: string;
  readonly engine: Engine;
  readonly adapter: () => SearchAdapter;
}

/**
 * Every search adapter over every database that it works with. The index in memory has no SQL of
 * its own: `TEST_PGLITE=everywhere` adds the one over PGlite.
 */
export const searchEngines: readonly SearchEngine[] = [
  ...engines.map((engine): SearchEngine => ({
    ...{ name: `memory on ${engine.name}`, engine, adapter: () => memorySearch() },
  })),
  ...everyEngine.map((engine): SearchEngine => ({
    ...{ name: `database on ${engine.name}`, engine, adapter: () => databaseSearch() },
  })),
];

/** One test for each search engine. */
export function testOnSearchEngines(
  name: string,
  work: (engine: SearchEngine) => Promise<void>,
): void {
  for (const one of searchEngines) {
    testUnless(one.engine.ignore ?? null, `${name} (${one.name})`, () => work(one));
  }
}

/** The notes as most tests serve them: each user reads their own, and may write all. */
export const servedNotes = (options: Record<string, unknown> = {}) => ({
  resources: [
    resource(notes, {
      id: notes.id,
      auth: {
        read: ({ id }: User) => eq(notes.ownerId, id),
        create: () => all(),
        update: () => all(),
        delete: () => all(),
      },
      fields: { readable: [notes.id, notes.ownerId, notes.title, notes.body] },
      softDelete: { field: notes.deletedAt },
      computed: { shout: ({ title }) => title.toUpperCase() },
      ...options,
    }),
  ],
});

/** Runs `work` against the notes. */
export function withNotes(
  { engine, adapter }: SearchEngine,
  work: (service: Service) => Promise<void>,
  options: Record<string, unknown> = {},
): Promise<void> {
  return withService(
    engine,
    [notes],
    () => ({ ...servedNotes(options), search: adapter() }),
    work,
  );
}

/** The headers of a user. */
export const as = (id: string) => ({ "x-user": id });

/** Creates notes through the service. */
export async function createNotes(service: Service, rows: readonly Note[]): Promise<void> {
  for (let at = 0; at < rows.length; at += 100) {
    const items = rows.slice(at, at + 100).map((row) => ({ ownerId: "ada", title: "x", ...row }));
    const { status, body } = await service.send("POST", "/api/notes/batch", { items }, as("ada"));
    assertEquals([status, body.items?.length], [201, items.length], JSON.stringify(body));
  }
}

/** The ids that a search finds, and its total. On a busy machine, an index is filled for a while. */
export async function find(
  service: Service,
  query: string,
  user = "ada",
): Promise<{ readonly ids: readonly number[]; readonly total: number }> {
  const search = () => service.get(`/api/notes/search?${query}`, as(user));
  let { status, body } = await search();
  for (let tries = 0; status === 503 && tries < 100; tries++) {
    if (!/still being indexed/.test(body.detail)) break;
    await new Promise((resolve) => setTimeout(resolve, 200));
    ({ status, body } = await search());
  }
  assertEquals(status, 200, JSON.stringify(body));
  return { ids: body.items.map(({ id }: Note) => id), total: body.total };
}

/** A hidden value that holds a word. */
export const hidden = (word: string) => `${hiddenMark}${word}`;

/** The memory adapter, which can be out of service. */
export function fallibleSearch(): { readonly adapter: SearchAdapter; isDown: boolean } {
  const search = { isDown: false, adapter: memorySearch() };
  const { openIndex } = search.adapter;
  return Object.assign(search, {
    adapter: {
      ...search.adapter,
      openIndex: (...args: Parameters<typeof openIndex>) => {
        const backend = openIndex(...args);
        const write = backend.write.bind(backend);
        backend.write = (...changes) =>
          search.isDown ? Promise.reject(new Error("it is down")) : write(...changes);
        return backend;
      },
    },
  });
}
