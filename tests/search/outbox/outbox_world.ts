/** A table, its search index and the outbox between them, whose every step may be interrupted. */
import { assertEquals } from "@std/assert";
import { DatabaseError } from "../../../src/db/database_error.ts";
import type { Connection, Driver } from "../../../src/db/driver.ts";
import { openDatabase } from "../../../src/engines/open_database.ts";
import { createRowReader } from "../../../src/db/rows.ts";
import { allRows } from "../../../src/filter/filter.ts";
import { entriesBelow } from "../../../src/kv/entries_below.ts";
import type { KeyValue } from "../../../src/kv/key_value.ts";
import { createMemoryKeyValue } from "../../../src/kv/memory_key_value.ts";
import { formatKey } from "../../../src/plan/key.ts";
import type { Clock, Observation, Random } from "../../../src/runtime/runtime.ts";
import { integer, text } from "../../../src/schema/column_builder.ts";
import { table } from "../../../src/schema/table.ts";
import { tableInfoOf } from "../../../src/schema/table_like.ts";
import { OutboxStore } from "../../../src/search/outbox/outbox_store.ts";
import { KvSearchOutbox } from "../../../src/search/outbox/search_outbox.ts";
import { type IndexBackend, SearchVersions } from "../../../src/search/search_adapter.ts";
import type { SearchIndex } from "../../../src/search/search_index.ts";
import { handClock } from "../../db/hand_clock.ts";
import type { Database } from "../../../src/db/database.ts";

/** The steps from a write to its document, in their order. */
export const steps = ["intent", "commit", "ready", "re-read", "index", "acknowledge"] as const;

/** A step from a write to its document. */
export type OutboxStep = (typeof steps)[number];

/** Called before and after each step; may throw, and may never resolve. */
export type Moment = (step: OutboxStep, side: "before" | "after") => Promise<void>;

/** One process: it writes rows and drains the outbox, and may end at any moment. */
export interface OutboxProcess {
  readonly outbox: KvSearchOutbox;
  /** Null deletes the row. Rejects where the process has ended, or the write failed. */
  write(id: number, title: string | null): Promise<void>;
  drain(): Promise<void>;
  /** Ends the process now: nothing that it waits for is continued. */
  crash(): Promise<never>;
}

/** The process has ended. */
export class Crash extends Error {}

/** What lasts: the database, the index, the store and the clock. */
export interface OutboxWorld extends AsyncDisposable {
  readonly database: Database;
  readonly indexed: Map<string, IndexedDocument>;
  readonly observed: Observation[];
  /** What was reported as failed too often. */
  readonly reported: string[];
  readonly advance: (ms: number) => void;
  /** A store that answers every call until it is replaced by {@link OutboxWorld.reset}. */
  store(): KeyValue;
  /** Forgets all rows, documents and entries. */
  reset(): Promise<void>;
  /** Starts a process; `random` makes its ids and its waits. */
  start(moment?: Moment, store?: (store: KeyValue) => KeyValue): OutboxProcess;
  /** Drains in a process without faults until nothing is left, and compares the index with the rows. */
  converge(hint: string): Promise<void>;
  /** Whether the search index is out of service. */
  isDown: boolean;
}

/** A document in the index, or the tombstone of one. */
export interface IndexedDocument {
  readonly title: string | null;
  readonly version: number;
}

const notes = table("notes", { id: integer().primaryKey(), title: text().notNull() });

/** Never waits: what is random there is how long to wait after a conflict. */
const noRandom: Random = { bytes: (length) => new Uint8Array(length) };

type OpenStore = (clock: Clock) => Promise<KeyValue>;

/** Opens a world with an empty table. Its processes share the memory, or another store. */
export async function openOutboxWorld(
  openStore: OpenStore = (clock) => Promise.resolve(createMemoryKeyValue(clock)),
): Promise<OutboxWorld> {
  const database = await openDatabase("sqlite::memory:");
  await database.createTables([notes]);
  const { clock, advance } = handClock();
  const indexed = new Map<string, IndexedDocument>();
  const observed: Observation[] = [];
  const store = await openStore(clock);
  let processes = 0;

  const world: OutboxWorld = {
    ...{ database, indexed, observed, reported: [], advance, isDown: false },
    store: () => store,
    async reset() {
      await database.driver.query({ text: "DELETE FROM notes", values: [] });
      indexed.clear();
      for await (const { key } of entriesBelow(store, [])) {
        await store.commit({ mutations: [{ kind: "delete", key }] });
      }
    },
    start(moment = () => Promise.resolve(), wrap = (inner) => inner) {
      const crashed = Promise.withResolvers<never>();
      crashed.promise.catch(() => {});
      let hasEnded = false;
      let step: OutboxStep | null = null;
      const around = async <T>(at: OutboxStep | null, work: () => Promise<T>): Promise<T> => {
        if (hasEnded) return await new Promise(() => {});
        if (at !== null) await moment(at, "before");
        const result = await work();
        if (at !== null) await moment(at, "after");
        return hasEnded ? await new Promise(() => {}) : result;
      };
      const kv = wrap(store);
      const index = searchIndexOf(database.driver, (work) => around("re-read", work));
      const id = ++processes;
      let ids = 0;
      const random: Random = {
        // Ids differ, and waits are none.
        bytes: (length) =>
          length < 8
            ? noRandom.bytes(length)
            : new TextEncoder().encode(`${id}:${++ids}`.padStart(length)),
      };
      const runtime = {
        ...{ clock, random },
        observe: (observation: Observation) => void observed.push(observation),
      };
      const parts = {
        records: new OutboxStore(
          {
            get: (key) => kv.get(key),
            getMany: (keys) => kv.getMany(keys),
            list: (page) => kv.list(page),
            commit: (commit) => around(step, () => kv.commit(commit)),
            close: () => kv.close(),
          },
          runtime,
        ),
        indexes: new Map([["notes", {
          open: {
            index,
            backend: backendOf(world, (work) => {
              return around("index", work).finally(() => step = "acknowledge");
            }),
            versions: new SearchVersions(clock),
            isPrepared: true,
            refill: () => Promise.reject(new Error("no test here sweeps")),
          },
          isSwept: false,
          report: (error: unknown) => Promise.resolve(void world.reported.push(String(error))),
        }]]),
        defaults: { batchSize: 100, maxAttempts: 10, backoffBaseMs: 1_000 },
        runtime,
      };
      const outbox = new KvSearchOutbox(parts);
      const indexer = outbox.indexer("notes");
      const alive = <T>(work: Promise<T>) => Promise.race([work, crashed.promise]);

      return {
        outbox,
        crash() {
          hasEnded = true;
          crashed.reject(new Crash("the process has ended"));
          return new Promise(() => {});
        },
        write(id, title) {
          return alive((async () => {
            const pending: Awaited<ReturnType<typeof indexer.beforeCommit>>[] = [];
            try {
              await database.driver.transaction((connection) =>
                alive((async () => {
                  await writeRow(id, title, connection);
                  step = "intent";
                  pending.push(await indexer.beforeCommit([[id]], connection, null));
                  step = null;
                  await moment("commit", "before");
                })())
              );
              await moment("commit", "after").catch((cause) => {
                throw new DatabaseError("unknown-outcome", cause);
              });
            } catch (error) {
              if (hasEnded) throw error;
              const isCertain = !(error instanceof DatabaseError);
              for (const one of pending) await one.failed(isCertain);
              throw error;
            }
            step = "ready";
            for (const one of pending) await one.committed();
            step = null;
          })());
        },
        drain() {
          return alive((async () => {
            await outbox.drain();
            step = null;
          })());
        },
      };
    },
    async converge(hint) {
      const process = world.start();
      for (let rounds = 0;; rounds++) {
        const { pending, dead } = await process.outbox.stats();
        if (dead > 0) await process.outbox.replayDead();
        if (pending + dead === 0) break;
        assertEquals(rounds < 20, true, `${hint}: the outbox is never empty`);
        advance(310_000);
        await process.drain();
      }
      assertEquals(
        (await store.list({ prefix: ["search", "outbox", "entry"], limit: 9 })).length,
        0,
      );
      assertEquals(titlesOf(indexed), await rowsOf(database.driver), hint);
    },
    async [Symbol.asyncDispose]() {
      await database.close();
      await store.close();
    },
  };
  return world;
}

function searchIndexOf(
  driver: Driver,
  around: <T>(work: () => Promise<T>) => Promise<T>,
): SearchIndex {
  const info = tableInfoOf(notes);
  const title = info.columns.find(({ name }) => name === "title");
  if (title === undefined) throw new Error("the table has a title");
  return {
    name: "notes",
    table: info,
    fields: [{ column: title, weight: 1 }],
    driver: {
      ...driver,
      query: (statement) => around(async () => await driver.query(statement)),
    },
    reader: createRowReader(driver.dialect, () => {}),
    columns: [...info.primaryKey, title],
    undeleted: allRows,
    isIndexed: () => false,
  };
}

/** An index that takes writes by their versions, as every engine does. */
function backendOf(
  world: OutboxWorld,
  around: (work: () => Promise<void>) => Promise<void>,
): IndexBackend {
  return {
    write: (changes) =>
      around(() => {
        if (world.isDown) return Promise.reject(new Error("the search engine is down"));
        for (const { key, texts, version } of changes) {
          const docId = formatKey(key);
          if ((world.indexed.get(docId)?.version ?? 0) >= version) continue;
          world.indexed.set(docId, { title: texts?.[0] ?? null, version });
        }
        return Promise.resolve();
      }),
    prepare: () => Promise.resolve({ isFilled: true }),
    markFilled: () => Promise.resolve(),
    keys: () => Promise.resolve([]),
    local: null,
    matchWords: () => new Set(),
  };
}

async function writeRow(id: number, title: string | null, connection: Connection): Promise<void> {
  await connection.query(
    title === null ? { text: "DELETE FROM notes WHERE id = ?", values: [id] } : {
      text: "INSERT INTO notes (id, title) VALUES (?, ?) " +
        "ON CONFLICT (id) DO UPDATE SET title = excluded.title",
      values: [id, title],
    },
  );
}

function titlesOf(indexed: ReadonlyMap<string, IndexedDocument>): unknown {
  const found = [...indexed].filter(([, { title }]) => title !== null);
  return Object.fromEntries(found.map(([id, { title }]) => [id, title]).sort());
}

async function rowsOf(driver: Driver): Promise<unknown> {
  const { rows } = await driver.query({ text: "SELECT id, title FROM notes", values: [] });
  return Object.fromEntries(rows.map(([id, title]) => [String(id), title]).sort());
}
