import { chunksOf, parseKey } from "../../plan/key.ts";
import { bytesToHex } from "../../protocol/byte_text.ts";
import type { Runtime } from "../../runtime/runtime.ts";
import type { ReportFailure } from "../indexer.ts";
import type { OpenIndex } from "../open_index.ts";
import {
  failEntry,
  finishEntry,
  leaseEntry,
  type OutboxEntry,
  postponeEntry,
  releaseEntry,
  type RetrySchedule,
} from "./outbox_entry.ts";
import type { OutboxStore } from "./outbox_store.ts";
import { type OutboxFault, type VersionedEntry, writeEntries } from "./write_entries.ts";

export interface OutboxIndex {
  readonly open: Pick<OpenIndex, "index" | "backend" | "versions" | "isPrepared" | "refill">;
  /** Called for entries that have failed too often and are no longer retried (dead entries). */
  readonly report: ReportFailure;
  /** True if the index has the option `autoIndex`: sweeps then index all its rows again. */
  readonly isSwept: boolean;
}

export interface OutboxParts {
  readonly records: OutboxStore;
  readonly indexes: ReadonlyMap<string, OutboxIndex>;
  readonly runtime: Omit<Runtime, "environment">;
}

export interface DrainLimits extends RetrySchedule {
  readonly batchSize: number;
}

/** The results of one run of the outbox. */
export interface DrainResult {
  /** Number of entries after which the index contains the current rows. */
  readonly done: number;
  /** Number of failed entries. Those that are not dead now will be retried. */
  readonly failed: number;
  /** Number of entries that have now failed too often, and are dead. */
  readonly dead: number;
}

/**
 * Processes the entries that are due: reads their rows, writes them to their indexes and removes
 * the entries. Rejects if the key-value store does not respond. Entries that are not finished then
 * are due again at the end of their lease.
 */
export async function drainEntries(
  parts: OutboxParts,
  limits: DrainLimits,
): Promise<DrainResult> {
  const { records, indexes, runtime } = parts;
  const owner = bytesToHex(runtime.random.bytes(16));
  const taken = await takeDue(owner, parts, limits);
  if (taken.length === 0) return { done: 0, failed: 0, dead: 0 };
  // The versions are created after the leases begin, and before the rows are read. If two processes
  // write one entry because a lease has ended, the greater version belongs to the later read.
  const first = await reserveVersions(taken.length, parts);
  const versioned = taken.map((entry, nth) => ({ entry, version: first + nth }));
  const groups = [...Map.groupBy(versioned, ({ entry }) => entry.index)];
  const outcomes = await Promise.all(groups.map(async ([name, some]) => {
    const found = indexes.get(name);
    if (found !== undefined) return await writeGroup(some, found, parts);
    const fault = { kind: "unwritten", reason: `there is no index "${name}"` } as const;
    return some.map(({ entry }) => ({ entry, fault }));
  }));
  const ended = await Promise.all(
    outcomes.flat().map(async ({ entry, fault }) => {
      const left = await records.change(entry, (current) => {
        if (current === null) return null;
        return endWork(current, { owner, fault, now: runtime.clock.now(), schedule: limits });
      });
      return { fault, left };
    }),
  );
  const dead = ended.flatMap(({ left }) => left === null || left.deadSince === null ? [] : [left]);
  await Promise.all(dead.map((entry) => reportDead(entry, indexes.get(entry.index))));
  return {
    done: ended.filter(({ fault }) => fault === null).length,
    failed: ended.filter(({ fault }) => fault !== null).length,
    dead: dead.length,
  };
}

/** How long one process can work on entries before another one takes them, in milliseconds. */
const leaseMs = 120_000;

/** From this attempt on, a document has its own request, because it may cause the failures. */
const soloAttempts = 5;

/** Maximum number of concurrent requests with only one document each. */
const soloWrites = 10;

interface Outcome {
  readonly entry: OutboxEntry;
  /** Why the document was not written; null if it was. */
  readonly fault: OutboxFault | null;
}

interface WorkEnd {
  readonly owner: string;
  readonly fault: OutboxFault | null;
  readonly now: number;
  readonly schedule: RetrySchedule;
}

function endWork(entry: OutboxEntry, { owner, fault, now, schedule }: WorkEnd): OutboxEntry | null {
  if (fault === null) return finishEntry(entry, owner, now);
  switch (fault.kind) {
    case "late":
      return releaseEntry(entry, owner);
    case "unread":
      return postponeEntry(entry, owner, { now, reason: fault.reason, schedule });
    case "unwritten":
      return failEntry(entry, owner, { now, reason: fault.reason, schedule });
  }
}

/** Reserves versions for index writes that are greater than all earlier ones of this process. */
async function reserveVersions(
  count: number,
  { records, indexes }: OutboxParts,
): Promise<number> {
  const drawn = [...indexes.values()].map(({ open }) => open.versions);
  const first = await records.reserveVersions(
    count,
    Math.max(0, ...drawn.map((versions) => versions.next())),
  );
  for (const versions of drawn) versions.raise(first + count - 1);
  return first;
}

async function reportDead(
  { failure, docId, attempts }: OutboxEntry,
  found: OutboxIndex | undefined,
): Promise<void> {
  const key = found === undefined ? null : parseKey(docId, found.open.index.table);
  if (found === undefined || key === null) return;
  await found.report(new Error(`${failure} (${attempts} attempts)`), [key]);
}

async function takeDue(
  owner: string,
  { records, runtime: { clock } }: OutboxParts,
  { batchSize }: DrainLimits,
): Promise<readonly OutboxEntry[]> {
  const now = clock.now();
  const due = (await records.places("due", batchSize)).filter(({ at }) => at <= now);
  const lease = { owner, until: now + leaseMs };
  const entries = await Promise.all(
    due.map((name) =>
      records.change(
        name,
        (entry) => entry === null ? null : leaseEntry(entry, lease, now) ?? entry,
      )
    ),
  );
  return entries.filter((entry) => entry?.lease?.owner === owner).filter((entry) => entry !== null);
}

async function writeGroup(
  some: readonly VersionedEntry[],
  { open }: OutboxIndex,
  { records, runtime: { clock } }: OutboxParts,
): Promise<readonly Outcome[]> {
  const write = async (those: readonly VersionedEntry[]): Promise<readonly Outcome[]> => {
    const fault = await writeEntries(those, { open, records, clock });
    return those.map(({ entry }) => ({ entry, fault }));
  };
  const isSolo = ({ entry }: VersionedEntry) => entry.attempts >= soloAttempts;
  const together = some.filter((one) => !isSolo(one));
  const outcomes = together.length === 0 ? [] : [...await write(together)];
  for (const next of chunksOf(some.filter(isSolo), soloWrites)) {
    outcomes.push(...(await Promise.all(next.map((one) => write([one])))).flat());
  }
  return outcomes;
}
