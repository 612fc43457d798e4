import type { LogFile } from "../../db/log_file.ts";
import type { RequestObservation } from "../../runtime/observations/request_observation.ts";
import type { Runtime } from "../../runtime/runtime.ts";
import { durationBucket, loadWidths } from "./load_buckets.ts";
import type { ResolvedRequestLog } from "./request_log_options.ts";

export interface RequestRecord extends Omit<RequestObservation, "kind"> {
  readonly at: number;
  readonly user: string | null;
  readonly bytes: number | null;
  readonly problem: string | null;
  readonly detail: string | null;
}

export interface SlowStatement {
  readonly database: string;
  readonly route: string;
  readonly text: string;
  /** The number of placeholders in the text. */
  readonly parameters: number;
  readonly durationMs: number;
}

/** Writes requests and slow statements to the log file in batches, and deletes the oldest. */
export class RequestStore {
  readonly file: LogFile;
  readonly options: ResolvedRequestLog;
  readonly #runtime: Pick<Runtime, "clock" | "observe">;
  #requests: RequestRecord[] = [];
  #statements: SlowStatement[] = [];
  #lost = 0;
  #unswept = 0;
  #cancel: (() => void) | null = null;
  #isClosed = false;
  #hasFailed = false;

  constructor(
    file: LogFile,
    options: ResolvedRequestLog,
    runtime: Pick<Runtime, "clock" | "observe">,
  ) {
    this.file = file;
    this.options = options;
    this.#runtime = runtime;
    file.transaction(() => this.#sweep());
  }

  add(record: RequestRecord): void {
    if (this.#requests.length >= maxWaiting) this.#lost++;
    else this.#requests.push(record);
    this.#schedule(batchMs);
  }

  addStatement(statement: SlowStatement): void {
    if (this.#statements.length < maxGroups) this.#statements.push(statement);
    this.#schedule(batchMs);
  }

  /** Writes all waiting records, so that a report of this process contains them. */
  flush(): void {
    while (this.#requests.length + this.#statements.length > 0 && this.#write());
  }

  close(): void {
    this.flush();
    this.#cancel?.();
    this.#isClosed = true;
    this.file.close();
  }

  #schedule(delayMs: number): void {
    if (this.#cancel !== null || this.#isClosed) return;
    this.#cancel = this.#runtime.clock.after(delayMs, () => {
      this.#cancel = null;
      const isWritten = this.#write();
      if (this.#requests.length > 0) this.#schedule(isWritten ? 1 : batchMs);
    });
  }

  /** Writes one batch. Returns false if the file cannot be written: the records then wait. */
  #write(): boolean {
    const batch = this.#requests.slice(0, maxBatch);
    const [statements, lost] = [this.#statements, this.#lost];
    try {
      this.file.transaction(() => {
        this.#writeRequests(batch, lost);
        for (const one of statements) this.#writeStatement(one);
        this.#unswept += batch.length + 1;
        if (this.#unswept > this.options.maxRequests / 20) this.#sweep();
      });
    } catch (error) {
      // A locked file is no failure: another worker is writing. Other failures are reported once.
      if (!this.#hasFailed && !String(error).includes("locked")) {
        this.#hasFailed = true;
        const message = `the log of requests cannot be written: ${error}`;
        this.#runtime.observe({ kind: "notice", message });
      }
      return false;
    }
    this.#requests = this.#requests.slice(batch.length);
    this.#statements = [];
    this.#lost -= lost;
    return true;
  }

  #writeRequests(batch: readonly RequestRecord[], lost: number): void {
    const { file } = this;
    const now = this.#runtime.clock.now();
    const count = (at: number, kind: number, bucket: number, times: number) => {
      for (const { widthMs } of loadWidths) {
        file.run(
          `INSERT INTO load VALUES (?, ?, ?, ?, ?)
            ON CONFLICT DO UPDATE SET count = count + excluded.count`,
          ...[widthMs, at - at % widthMs, kind, bucket, times],
        );
      }
    };
    if (batch.length > 0) {
      const records = JSON.stringify(batch);
      file.run(
        "INSERT INTO batches (at, size, records) VALUES (?, ?, ?)",
        now,
        batch.length,
        records,
      );
    }
    if (lost > 0) count(now, 0, 0, lost);
    const minutes = groupBy(
      batch,
      ({ at, status, durationMs }) =>
        `${Math.floor(at / 60_000)} ${Math.floor(status / 100)} ${durationBucket(durationMs)}`,
    );
    for (const { last: { at, status, durationMs }, times } of minutes) {
      count(at, Math.floor(status / 100), durationBucket(durationMs), times);
    }
    const problems = groupBy(
      batch.filter(({ problem }) => problem !== null),
      ({ problem, status, method, route }) => `${problem} ${status} ${method} ${route}`,
    );
    for (const { first, last, times } of problems) {
      const { problem, status, method, route, detail } = last;
      file.run(
        `INSERT INTO problems VALUES (?, ?, ?, ?, ?, ?, ?, ?) ON CONFLICT DO UPDATE
          SET count = count + excluded.count, lastAt = excluded.lastAt, detail = excluded.detail`,
        ...[problem, status, method, route, detail, first.at, last.at, times],
      );
    }
  }

  #writeStatement({ database, route, text, parameters, durationMs }: SlowStatement): void {
    this.file.run(
      `INSERT INTO statements (database, route, text, parameters, longestMs, lastAt, count)
        VALUES (?, ?, ?, ?, ?, ?, 1) ON CONFLICT DO UPDATE SET count = count + 1,
        lastAt = excluded.lastAt, longestMs = max(longestMs, excluded.longestMs)`,
      ...[database, route, text.slice(0, maxStatementLength), parameters],
      ...[Math.round(durationMs), this.#runtime.clock.now()],
    );
  }

  #sweep(): void {
    const { file, options: { maxRequests, maxBytes, maxAgeMs } } = this;
    const now = this.#runtime.clock.now();
    this.#unswept = 0;
    file.run(
      `DELETE FROM batches WHERE at < ? OR id <= (SELECT max(id) FROM
        (SELECT id, sum(size) OVER (ORDER BY id DESC) AS total FROM batches) WHERE total > ?)`,
      ...[now - maxAgeMs, maxRequests],
    );
    for (const { widthMs, keptMs } of loadWidths) {
      file.run("DELETE FROM load WHERE widthMs = ? AND at < ?", widthMs, now - keptMs);
    }
    for (const table of ["problems", "statements"]) {
      file.run(`DELETE FROM ${table} WHERE rowid NOT IN
        (SELECT rowid FROM ${table} ORDER BY lastAt DESC, rowid DESC LIMIT ${maxGroups})`);
    }
    const size = `SELECT (page_count - freelist_count) * page_size AS bytes
      FROM pragma_page_count, pragma_freelist_count, pragma_page_size`;
    for (let tenth = 0; tenth < 10; tenth++) {
      if (Number(file.rows(size)[0]?.bytes) <= maxBytes) break;
      file.run(`DELETE FROM batches WHERE id <=
        (SELECT min(id) + (max(id) - min(id)) / (10 - ${tenth}) FROM batches)`);
    }
  }
}

const batchMs = 500;
export const maxBatch = 500;
/** The maximum number of requests that wait. Later requests are lost, and only counted. */
const maxWaiting = 5_000;
/** The maximum number of groups of problems, and of slow statements. */
export const maxGroups = 200;
export const maxStatementLength = 16_384;

interface RecordGroup {
  readonly first: RequestRecord;
  last: RequestRecord;
  times: number;
}

function groupBy(
  records: readonly RequestRecord[],
  keyOf: (record: RequestRecord) => string,
): Iterable<RecordGroup> {
  const groups = new Map<string, RecordGroup>();
  for (const record of records) {
    const key = keyOf(record);
    const group = groups.get(key);
    if (group === undefined) groups.set(key, { first: record, last: record, times: 1 });
    else {
      group.last = record;
      group.times++;
    }
  }
  return groups.values();
}
