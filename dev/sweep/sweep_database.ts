import postgres from "postgres";
import { checkResource } from "../check_database/check_resource.ts";
import { openOracle } from "../check_database/oracle.ts";
import { WriteCheck, type WriteContext } from "../check_database/writes/write_check.ts";
import { openRaw } from "./raw_database.ts";
import { type Loaded, run } from "./sources.ts";
import { checkStream } from "./stream_check.ts";
import { type StartedService, startService } from "./started_service.ts";

/** The limits of a sweep. */
export interface SweepLimits {
  /** The maximum number of rows of each table that are read and compared. */
  readonly maxRows: number;
  /** The maximum number of rows of each table that are written. */
  readonly maxWritten: number;
  /** Receives a line for each table, with its differences. */
  readonly print: (line: string) => void;
}

/** The results for one database. */
export interface Swept {
  readonly name: string;
  readonly engine: Loaded["engine"];
  readonly resources: number;
  readonly leftOut: readonly string[];
  readonly rows: number;
  readonly requests: number;
  /** Filters and orders that the service refuses for the type of their column. */
  readonly refusedReads: number;
  readonly written: number;
  readonly copies: number;
  /** Writes that a rule of the database refuses. */
  readonly refusedWrites: readonly string[];
  /** Tables whose raw change a stream has shown, and tables that have streams. */
  readonly streamed: number;
  readonly withStreams: number;
  readonly isSameSchema: boolean;
  readonly differences: readonly string[];
  readonly seconds: number;
}

const cli = new URL("../../cli.ts", import.meta.url).pathname;

/** Sweeps a copy of a database: all reads, writes and streams, and the removal of the service. */
export async function sweepDatabase(loaded: Loaded, limits: SweepLimits): Promise<Swept> {
  const beganAt = Date.now();
  const before = await loaded.schemaText();
  const service = await startService(loaded.place);
  const swept = { rows: 0, refusedReads: 0, written: 0, copies: 0, streamed: 0, withStreams: 0 };
  const differences: string[] = [];
  const refusedWrites: string[] = [];
  const unread = [...service.leftOut];
  const progress: Progress = { ...limits, swept, differences, unread, failing: new Set() };
  try {
    await checkReads(loaded, service, progress);
    await checkWrites(loaded, service, { ...progress, refusedWrites });
  } finally {
    await service.close();
  }
  await run(Deno.execPath(), ["run", "-A", "--no-check", cli, "uninstall", loaded.place]);
  const isSameSchema = await loaded.schemaText() === before;
  if (!isSameSchema) differences.push("uninstall leaves another schema than before");
  return {
    ...{ name: loaded.name, engine: loaded.engine, leftOut: unread },
    ...{ ...swept, refusedWrites, differences, isSameSchema },
    ...{ resources: service.schema.resources.length, requests: service.requests },
    seconds: Math.round((Date.now() - beganAt) / 1_000),
  };
}

type Counts = {
  [name in "rows" | "refusedReads" | "written" | "copies" | "streamed" | "withStreams"]: number;
};

interface Progress extends SweepLimits {
  readonly swept: Counts;
  readonly differences: string[];
  readonly unread: string[];
  /** The paths of views that plain SQL cannot read. */
  readonly failing: Set<string>;
}

async function checkReads(
  { place }: Loaded,
  service: StartedService,
  { maxRows, print, swept, differences, unread, failing }: Progress,
): Promise<void> {
  const oracle = await openOracle(place);
  try {
    for (const resource of service.schema.resources) {
      const context = { served: service, oracle, maxRows };
      const checked = await checkResource(resource, context).catch((error) => {
        // A view can contain an expression that fails for some rows.
        if (!(error instanceof postgres.PostgresError)) throw error;
        unread.push(`${resource.path}: plain SQL fails: ${error.message}`);
        failing.add(resource.path);
        return null;
      });
      if (checked === null) continue;
      swept.rows += checked.rows;
      swept.refusedReads += checked.refused;
      differences.push(...checked.differences);
      print(`${resource.path}: ${checked.rows} rows read, ${checked.differences.length} differ`);
    }
  } finally {
    await oracle.close();
  }
}

async function checkWrites(
  loaded: Loaded,
  service: StartedService,
  { maxWritten, print, swept, differences, refusedWrites, failing }: Progress & {
    readonly refusedWrites: string[];
  },
): Promise<void> {
  const raw = openRaw(loaded);
  const checks: WriteCheck[] = [];
  const context: WriteContext = { raw, send: service.send, maxRows: maxWritten, checks };
  try {
    const writable = [...service.infos].filter(([path, { readOnly }]) =>
      !readOnly && !failing.has(path)
    );
    for (const [path, table] of writable) {
      checks.push(new WriteCheck(table, path, context));
      const resource = service.schema.resources.find((one) => one.path === path);
      if (resource?.capabilities.enableSubscribe !== true) continue;
      swept.withStreams++;
      const { isSeen, differences: found } = await checkStream(table, path, { service, raw });
      swept.streamed += Number(isSeen);
      differences.push(...found);
    }
    for (const check of checks) {
      const { rows, copies, refused, differences: found } = await check.run();
      swept.written += rows;
      swept.copies += copies;
      refusedWrites.push(...refused);
      differences.push(...found);
      print(`${check.name}: ${rows} rows written, ${copies} copied, ${found.length} differ`);
    }
  } finally {
    await raw.close();
  }
}
