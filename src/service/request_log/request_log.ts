import type { LogFile } from "../../db/log_file.ts";
import type { Runtime } from "../../runtime/runtime.ts";
import type { ResolvedRequestLog } from "./request_log_options.ts";
import { RequestRecorder } from "./request_recorder.ts";
import { RequestStore } from "./request_store.ts";

export interface RequestLog {
  readonly recorder: RequestRecorder;
  readonly store: RequestStore;
}

/** If the file cannot be opened, the log is in memory. On a host without SQLite, there is none. */
export async function openRequestLog(
  options: ResolvedRequestLog,
  runtime: Runtime,
  open: (path: string) => Promise<LogFile>,
): Promise<RequestLog | null> {
  for (const file of new Set([options.file, ":memory:"])) {
    try {
      const store = new RequestStore(await open(file), options, runtime);
      return { store, recorder: new RequestRecorder(store, runtime.clock) };
    } catch (error) {
      const message = `the log of requests cannot be opened in ${file}: ${error}`;
      runtime.observe({ kind: "notice", message });
    }
  }
  return null;
}

export const requestLogFile = {
  /** "RALg" in ASCII. */
  applicationId: 0x52414c67,
  tables: [
    // The records are JSON, because a row for each request would take ten times as long.
    `CREATE TABLE IF NOT EXISTS batches (id INTEGER PRIMARY KEY AUTOINCREMENT, at INTEGER,
      size INTEGER, records TEXT)`,
    // The kind is the first digit of the status, or 0 for requests that the log has lost.
    `CREATE TABLE IF NOT EXISTS load (widthMs INTEGER, at INTEGER, kind INTEGER, bucket INTEGER,
      count INTEGER, PRIMARY KEY (widthMs, at, kind, bucket)) WITHOUT ROWID`,
    `CREATE TABLE IF NOT EXISTS problems (code TEXT, status INTEGER, method TEXT, path TEXT,
      detail TEXT, firstAt INTEGER, lastAt INTEGER, count INTEGER,
      UNIQUE (code, status, method, path))`,
    `CREATE TABLE IF NOT EXISTS statements (id INTEGER PRIMARY KEY AUTOINCREMENT, database TEXT,
      route TEXT, text TEXT, parameters INTEGER, longestMs INTEGER, lastAt INTEGER, count INTEGER,
      UNIQUE (database, route, text))`,
  ],
};
