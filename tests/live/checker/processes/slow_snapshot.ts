import { openDatabase } from "../../../../src/engines/open_database.ts";
import { text } from "../../../../src/schema/column_builder.ts";
import { table } from "../../../../src/schema/table.ts";
import { startChild } from "../../../serve/child_process.ts";
import { run, scratchFolder } from "../../../support/scratch.ts";
import { EventSourceParser } from "../event_source_parser.ts";

/** What a snapshot that is read slowly has cost. */
export interface SlowSnapshot {
  /** Rows that came. */
  readonly rows: number;
  readonly bytes: number;
  readonly elapsedMs: number;
  /** The most memory that the server has ever had, in megabytes. */
  readonly peakMegabytes: number;
  /** Of requests before, and during it; the one in the middle. */
  readonly idleMs: number;
  readonly busyMs: number;
}

/** Lets one client read all rows of a table at a pace, while others request pages. */
export async function readSlowly(rows: number, bytesPerSecond: number): Promise<SlowSnapshot> {
  await using folder = await scratchFolder();
  const url = `sqlite:${folder.path}/a.db`;
  await fill(url, rows);
  const script = new URL("service_process.ts", import.meta.url).pathname;
  await using child = startChild([script, url], {
    maxLifeMs: 60_000 + 400 * rows * 1_000 / bytesPerSecond,
  });
  const base = `http://127.0.0.1:${(await child.printed(/port (\d+)/))[1]}/api/marks`;
  const idleMs = await middleOf(base, () => false, 60);
  let isOver = false;
  const asking = middleOf(base, () => isOver, Infinity);
  const startedAt = performance.now();
  const read = await readAll(base, bytesPerSecond);
  const elapsedMs = performance.now() - startedAt;
  isOver = true;
  const busyMs = await asking;
  return { ...read, elapsedMs, idleMs, busyMs, peakMegabytes: peakOf(child.pid) };
}

async function fill(url: string, rows: number): Promise<void> {
  const db = await openDatabase(url);
  await db.createTables([table("marks", { id: text().primaryKey(), note: text() })]);
  await run(
    db,
    `INSERT INTO marks (id, note)
     WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < ${rows})
     SELECT printf('%08d', i), printf('%0120d', i) FROM n`,
  );
  await db.close();
}

async function readAll(base: string, bytesPerSecond: number) {
  let rows = 0;
  let bytes = 0;
  let isSynced = false;
  const parser = new EventSourceParser(({ event }) => {
    if (event?.type !== "existing") return;
    const { items, hasMore } = JSON.parse(event.data);
    rows += items.length;
    if (hasMore === false) isSynced = true;
  });
  const aborting = new AbortController();
  const response = await fetch(`${base}/subscribe`, { signal: aborting.signal });
  const startedAt = performance.now();
  for await (const chunk of response.body ?? []) {
    parser.push(chunk);
    bytes += chunk.length;
    if (isSynced) break;
    const early = 1_000 * bytes / bytesPerSecond - (performance.now() - startedAt);
    if (early > 0) await new Promise((resolve) => setTimeout(resolve, early));
  }
  aborting.abort();
  return { rows, bytes };
}

/** How long the request in the middle took, of many one after the other. */
async function middleOf(base: string, isOver: () => boolean, count: number): Promise<number> {
  const times: number[] = [];
  while (!isOver() && times.length < count) {
    const startedAt = performance.now();
    await (await fetch(`${base}?limit=20`)).text();
    times.push(performance.now() - startedAt);
    await new Promise((resolve) => setTimeout(resolve, 5));
  }
  return times.toSorted((left, right) => left - right)[times.length >> 1] ?? 0;
}

function peakOf(pid: number): number {
  const status = Deno.readTextFileSync(`/proc/${pid}/status`);
  return Number(/VmHWM:\s+(\d+) kB/.exec(status)?.[1]) / 1024;
}
