import { assert, assertEquals } from "@std/assert";
import { createApp } from "../../src/app/app.ts";
import { openDatabase } from "../../src/engines/open_database.ts";
import { resource } from "../../src/resource/define/resource_definition.ts";
import { systemRuntime } from "../../src/runtime/system_runtime.ts";
import { integer, text } from "../../src/schema/column_builder.ts";
import { table } from "../../src/schema/table.ts";
import type { Row } from "../../src/schema/table_info.ts";
import { type EventStream, openEventStream } from "../support/event_stream.ts";
import { run } from "../support/scratch.ts";
import { Client } from "./hub_support.ts";

const notes = table("notes", { id: integer().primaryKey(), title: text().notNull() });

/** A service over a database that is restored under it, or while it is stopped. */
export type Service = Awaited<ReturnType<typeof serve>>;

/** Starts a service over a database. */
export async function serve(url: string) {
  const db = await openDatabase(url);
  await db.createTables([notes]);
  const app = await createApp({
    db,
    secret: "a secret for the tests only",
    runtime: systemRuntime(() => {}),
    resources: [
      resource(notes, { id: notes.id, auth: { public: { read: true, subscribe: true } } }),
    ],
  });
  // Timers that poll for changes keep no process alive, and the test waits for nothing else.
  const alive = setInterval(() => {}, 60_000);
  return {
    run: (text: string) => run(db, text),
    upkeep: () => app.upkeep(),
    close: async () => {
      clearInterval(alive);
      await app.close();
      await db.close();
    },
    subscribe: (headers: Record<string, string>) =>
      openEventStream(
        (signal) => app.fetch(new Request("http://test/api/notes/subscribe", { headers, signal })),
        () => {},
      ),
    rows: async (): Promise<readonly Row[]> => {
      const { rows } = await run(db, "SELECT id, title FROM notes ORDER BY id");
      return rows.map(([id, title]) => ({ id: Number(id), title: String(title) }));
    },
  };
}

/** A client that connects again with its position. */
export class Follower {
  readonly invalidations: string[] = [];
  readonly #client = new Client();
  #stream: EventStream;

  private constructor(stream: EventStream) {
    this.#stream = stream;
  }

  get faults(): readonly string[] {
    return this.#client.faults;
  }

  static async open(service: Service): Promise<Follower> {
    const follower = new Follower(await service.subscribe({}));
    await follower.until(({ isSynced }) => isSynced);
    await follower.#stream.untilToken();
    return follower;
  }

  /** Reads until a row and the position after it. */
  async receive(id: number): Promise<void> {
    await this.until(({ rows }) => rows.has(id));
    await this.#stream.untilToken();
  }

  async disconnect(): Promise<void> {
    await this.#stream.close();
  }

  async connect(service: Service): Promise<void> {
    assert(this.#stream.lastEventId !== "");
    this.#stream = await service.subscribe({ "last-event-id": this.#stream.lastEventId });
  }

  async until(isReached: (client: Client) => boolean): Promise<void> {
    while (!isReached(this.#client)) {
      for (const event of await this.#stream.take(1)) {
        if (event.type === "invalidate") this.invalidations.push(event.data.reason);
        this.#client.take(event);
      }
    }
  }

  /** Compares what it has with the table, after all changes until now. */
  async compare(service: Service): Promise<void> {
    await service.run("INSERT INTO notes VALUES (999, 'mark')");
    await this.until(({ rows, isSynced }) => isSynced && rows.has(999));
    await this.#stream.untilToken();
    assertEquals([...this.#client.rows.values()].sort(byId), await service.rows());
    await service.run("DELETE FROM notes WHERE id = 999");
    await this.until(({ rows }) => !rows.has(999));
    await this.#stream.untilToken();
  }
}

const byId = (left: Row, right: Row) => Number(left["id"]) - Number(right["id"]);
