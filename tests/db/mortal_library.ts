/** A SQLite library whose reader threads leave traces, and end when a statement says so. */
import { existsSync, writeFileSync } from "node:fs";
import process from "node:process";
import { isMainThread, threadId } from "node:worker_threads";
import { nodeSqlite } from "../../src/engines/sqlite/driver/node_sqlite_library.ts";
import type { SqliteLibrary } from "../../src/engines/sqlite/driver/sqlite_library.ts";

const busy = "A test says that it is busy";

export const mortal: SqliteLibrary = {
  ...nodeSqlite,
  name: "mortal",
  source: { module: import.meta.url, name: "mortal" },
  // Tried again, so that the thread ends while it has the read.
  errorName: (error) =>
    error instanceof Error && error.message === busy ? "SQLITE_BUSY" : nodeSqlite.errorName(error),
  open(path, readOnly, extensions) {
    const handle = nodeSqlite.open(path, readOnly, extensions);
    if (isMainThread) return handle;
    if (existsSync(`${path}.refused`)) throw new Error("A test refuses this start");
    writeFileSync(`${path}.thread${threadId}`, "");
    return {
      ...handle,
      get inTransaction() {
        return handle.inTransaction;
      },
      prepare(text) {
        if (text.includes("'exit'")) process.exit(3);
        if (text.includes("'throw'")) {
          setTimeout(() => fail("A test ends this thread"));
          fail(busy);
        }
        return handle.prepare(text);
      },
    };
  },
};

function fail(message: string): never {
  throw new Error(message);
}
