import { assert, assertEquals } from "@std/assert";
import { type Database, DatabaseError, integer, resource, table, text } from "../../mod.ts";
import type { Connection } from "../../exports/driver.ts";
import { bytesOfRow } from "../../src/db/row_bytes.ts";
import { insertRows, testOnEngines, withService } from "../support/http.ts";
import { asNdjson, parseNdjson } from "./export_support.ts";

const files = table("files", { id: integer().primaryKey(), content: text().notNull() });

/** The limit of bytes that a driver keeps to, and the largest result within it. */
function limited(db: Database, results: number[]): Database {
  const { driver } = db;
  const reads = (maxBytes: number): Connection => ({
    async query(statement) {
      const result = await driver.query(statement);
      const bytes = result.rows.reduce((sum, row) => sum + bytesOfRow(row), 0);
      if (bytes > maxBytes) throw new DatabaseError("too-large", new Error("too many bytes"));
      results.push(bytes);
      return result;
    },
  });
  return {
    ...db,
    driver: {
      dialect: driver.dialect,
      label: driver.label,
      query: (statement) => driver.query(statement),
      reads: ({ maxBytes }) => reads(maxBytes),
      transaction: (work) => driver.transaction(work),
      onCommit: (listener) => driver.onCommit(listener),
      isShared: driver.isShared,
      signals: driver.signals,
      close: () => driver.close(),
    },
  };
}

testOnEngines("a page of an export held 64 rows, of a megabyte each", (engine) => {
  const results: number[] = [];
  return withService(engine, [files], (db) => ({
    resources: [
      resource(files, {
        id: files.id,
        db: limited(db, results),
        auth: { public: true },
        capabilities: { enableExport: true },
      }),
    ],
  }), async ({ db, get }) => {
    // The one in the middle is larger than any page.
    const length = (id: number) => id === 10 ? 3_000_000 : id < 20 ? 400_000 : 10;
    const rows = Array.from({ length: 200 }, (_, id) => ({ id, content: "x".repeat(length(id)) }));
    await insertRows(db, files, rows);
    const { status, body } = await get("/api/files", asNdjson);
    assertEquals(status, 200);
    assertEquals(parseNdjson(body), rows);
    const over = results.filter((bytes) => bytes > 1024 * 1024);
    assertEquals(over.map((bytes) => Math.floor(bytes / 1_000)), [3_000]);
    assert(results.length < 60, `${results.length} pages`);
  });
});

testOnEngines("a page of ordinary rows is one statement", (engine) => {
  const results: number[] = [];
  return withService(engine, [files], (db) => ({
    resources: [
      resource(files, { id: files.id, db: limited(db, results), auth: { public: true } }),
    ],
  }), async ({ db, get }) => {
    const rows = Array.from({ length: 100 }, (_, id) => ({ id, content: "x".repeat(1_000) }));
    await insertRows(db, files, rows);
    const { body } = await get("/api/files?limit=100");
    assertEquals([body.items.length, results.length], [100, 1]);
  });
});
