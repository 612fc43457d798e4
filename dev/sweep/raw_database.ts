import { DatabaseSync, type SQLInputValue } from "node:sqlite";
import postgres from "postgres";
import type { SqlValue } from "../../src/sql/fragment.ts";
import type { RawRows } from "../check_database/writes/stored_rows.ts";
import type { Loaded } from "./sources.ts";

/** A connection of another program that writes to the database while the service has it open. */
export type RawDatabase = RawRows & { close(): Promise<void> };

export function openRaw({ engine, place }: Loaded): RawDatabase {
  return engine === "sqlite" ? openFile(place) : openServer(place);
}

function openFile(place: string): RawDatabase {
  const db = new DatabaseSync(place, { timeout: 5_000, enableForeignKeyConstraints: false });
  return {
    engine: "sqlite",
    run(text, values) {
      const statement = db.prepare(text);
      statement.setReadBigInts(true);
      // The cast is safe: the library takes these values, but its types have another Uint8Array.
      const rows = statement.all(...values as SQLInputValue[]);
      // The cast is safe: a cell of SQLite is one of these values.
      return Promise.resolve(rows.map((row) => Object.values(row) as SqlValue[]));
    },
    async trial(work) {
      db.exec("BEGIN IMMEDIATE");
      try {
        return await work();
      } finally {
        db.exec("ROLLBACK");
      }
    },
    close: () => Promise.resolve(db.close()),
  };
}

function openServer(url: string): RawDatabase {
  const client = postgres(url, { max: 1, onnotice: () => {}, connection: { TimeZone: "UTC" } });
  return {
    engine: "postgres",
    async run(text, values) {
      // The cast is safe: values are bound as strings, and the statement casts them.
      const rows = await client.unsafe(text, values as string[]).values();
      return rows.map((row) => [...row]);
    },
    async trial(work) {
      // One connection runs all statements in their order.
      await client.unsafe("BEGIN");
      try {
        return await work();
      } finally {
        await client.unsafe("ROLLBACK");
      }
    },
    close: () => client.end(),
  };
}
