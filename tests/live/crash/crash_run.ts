import { openDatabase } from "../../../src/engines/open_database.ts";
import { all } from "../../../src/filter/builders.ts";
import { resource } from "../../../src/resource/define/resource_definition.ts";
import { integer, text } from "../../../src/schema/column_builder.ts";
import { table } from "../../../src/schema/table.ts";
import { createScratchDatabase } from "../../support/engines.ts";
import { insertRows, type Service, userHeader, withService } from "../../support/http.ts";
import { run } from "../../support/scratch.ts";
import { type Fold, fold } from "./fold.ts";
import type { Database } from "../../../src/db/database.ts";

/** What a run showed. */
export interface CrashVerdict {
  /** The titles of the rows of the table by their keys. */
  readonly truth: ReadonlyMap<number, string>;
  /** For each kind of reader the rows that it lacks, or holds wrongly, once all is quiet. */
  readonly wrong: Readonly<Record<string, number>>;
  /** For each kind of reader, the reasons of its invalidations. */
  readonly invalidations: Readonly<Record<string, readonly string[]>>;
}

/** How the server stops and starts again, while streams are open. */
export type Outage = (service: Service, streams: ReadonlyMap<string, Fold>) => Promise<void>;

const notes = table("notes", { id: integer().primaryKey(), title: text() });
const rowsBefore = 20;
const insertsAfter = 120;
const maxLookMs = 500;
/** Who writes. */
export const caller = { [userHeader]: "writer" };

/**
 * Patches run while other sessions take numbers of transactions and give them back; then the server
 * goes down and comes up, and rows are inserted. Every stream must come to show what the table
 * holds.
 */
export async function crashRun(adminUrl: string, outage: Outage): Promise<CrashVerdict> {
  const scratch = await createScratchDatabase(adminUrl);
  const engine = { name: "postgres", open: () => openDatabase(scratch.url) };
  const config = () => ({
    resources: [resource(notes, {
      id: notes.id,
      auth: { public: true, create: () => all(), update: () => all() },
    })],
  });
  let evaluation: CrashVerdict | null = null;
  await withService(engine, [notes], config, async (service) => {
    await run(service.db, "CREATE TABLE noise (n integer)");
    const ids = Array.from({ length: rowsBefore }, (_, index) => index + 1);
    await insertRows(service.db, notes, ids.map((id) => ({ id, title: "old" })));
    const streams = new Map<string, Fold>();
    const open = async (name: string, path: string, headers = {}) =>
      streams.set(name, fold(await service.subscribe(`/api/notes${path}`, headers)));
    await open("open", "/subscribe");
    await open("left", "/subscribe");
    await open("aggregate", "/aggregate/subscribe?count=true");
    await eventually(() => streams.get("open")?.isSynced() === true);
    const others = await openDatabase(scratch.url);
    const quiet = disturb(others);
    await patches(service);
    // The log is looked at once more: the position then stands on numbers that nothing has written.
    await pause(maxLookMs);
    const left = streams.get("left");
    if (left === undefined) throw new Error("There is no stream to leave");
    const { lastEventId } = left.stream;
    const known = new Map(left.rows);
    await outage(service, streams);
    await quiet();
    await others.close();
    await left.stream.close();
    streams.delete("left");
    await eventually(async () => (await service.get("/api/notes/1")).status === 200);
    await open("resumed", "/subscribe", { "last-event-id": lastEventId });
    await inserts(service);
    await open("resumed later", "/subscribe", { "last-event-id": lastEventId });
    evaluation = await evaluate(service.db, streams, known);
    for (const { stream } of streams.values()) await stream.close();
  });
  await scratch.drop();
  if (evaluation === null) throw new Error("There is no verdict");
  return evaluation;
}

/** Begins transactions that come to nothing until the answer is called, or the server is gone. */
function disturb(others: Database): () => Promise<unknown> {
  let isOver = false;

  // Slowly: the server writes what it has whenever a page of its log is full.
  async function loop({ statements, restMs }: Disturbance): Promise<void> {
    while (!isOver) {
      await others.driver.transaction(async (connection) => {
        for (const text of statements) await connection.query({ text, values: [] });
        throw undone;
      }).catch((error) => {
        if (error !== undone) isOver = true;
      });
      await pause(restMs);
    }
  }

  const running = [...disturbances, ...disturbances].map(loop);
  return () => {
    isOver = true;
    return Promise.all(running);
  };
}

interface Disturbance {
  readonly statements: readonly string[];
  readonly restMs: number;
}

const subtransaction = ["SAVEPOINT s", "INSERT INTO noise VALUES (1)", "ROLLBACK TO s"];
const disturbances: readonly Disturbance[] = [
  { statements: ["SELECT pg_current_xact_id()"], restMs: 5 },
  { statements: Array.from({ length: 5 }, () => subtransaction).flat(), restMs: 50 },
];

const undone = new Error("rolled back on purpose");

async function patches(service: Service): Promise<void> {
  for (let n = 0; n < 20; n++) {
    await patch(service, 1 + n % rowsBefore, `n ${n}`);
    await pause(25);
  }
  // Concurrent writes share a transaction.
  const ids = Array.from({ length: rowsBefore }, (_, index) => 1 + index);
  await Promise.all(ids.map((id) => patch(service, id, `together ${id}`)));
}

async function patch(service: Service, id: number, title: string): Promise<void> {
  const { status, body } = await service.send("PATCH", `/api/notes/${id}`, { title }, caller);
  if (status !== 200) throw new Error(`PATCH: ${status} ${JSON.stringify(body)}`);
}

async function inserts(service: Service): Promise<void> {
  for (let n = 0; n < insertsAfter; n++) await insert(service, 1_000 + n);
  const ids = Array.from({ length: insertsAfter }, (_, index) => 2_000 + index);
  await Promise.all(ids.map((id) => insert(service, id)));
}

async function insert(service: Service, id: number): Promise<void> {
  const { status, body } = await service.send("POST", "/api/notes", { id, title: "new" }, caller);
  if (status !== 201) throw new Error(`POST: ${status} ${JSON.stringify(body)}`);
}

/** Holds what the readers show against the table, once they agree or have had all the time. */
async function evaluate(
  db: Database,
  streams: ReadonlyMap<string, Fold>,
  known: ReadonlyMap<number, string>,
): Promise<CrashVerdict> {
  const { rows } = await run(db, "SELECT id, title FROM notes");
  const truth = new Map(rows.map(([id, title]) => [Number(id), String(title)]));
  const wrongIn = ({ count, rows, stream }: Fold, name: string) => {
    if (count() !== null) return Math.abs((count() ?? 0) - truth.size);
    // A client that resumes keeps what it had, unless it is invalidated.
    const isFreshStart = stream.text.includes("event: invalidate");
    const held = new Map([...name.startsWith("resumed") && !isFreshStart ? known : [], ...rows]);
    const ids = new Set([...truth.keys(), ...held.keys()]);
    return [...ids].filter((id) => truth.get(id) !== held.get(id)).length;
  };
  const all = () => Object.fromEntries([...streams].map(([name, it]) => [name, wrongIn(it, name)]));
  await eventually(() => Object.values(all()).every((wrong) => wrong === 0)).catch(() => {});
  return {
    truth,
    wrong: all(),
    invalidations: Object.fromEntries(
      [...streams].map(([name, { invalidations }]) => [name, invalidations]),
    ),
  };
}

/** Tries repeatedly, for a while. */
export async function eventually(
  evaluateInDatabase: () => boolean | Promise<boolean>,
): Promise<void> {
  for (let tries = 0; tries < 300; tries++) {
    if (await evaluateInDatabase()) return;
    await pause(20);
  }
  throw new Error("It did not come to that");
}

function pause(ms: number): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, ms));
}
