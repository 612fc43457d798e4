import { Problem } from "../../../problem/problem.ts";
import type { DocumentName } from "../../../search/outbox/outbox_entry.ts";
import type { OutboxStats, SearchOutbox } from "../../../search/outbox/search_outbox.ts";
import { memberOf } from "../action_body.ts";
import type { Report } from "../report.ts";

/** The search outbox: its pending entries, and its dead entries (which failed too often). */
export interface OutboxReport {
  readonly stats: OutboxStats;
  /** The 200 oldest dead entries. */
  readonly dead: readonly DeadDocument[];
}

interface DeadDocument {
  /** An id that {@link createOutboxReplayAction} accepts. */
  readonly id: string;
  readonly index: string;
  /** The row's key, in the form of a URL's last segment. */
  readonly key: string;
  readonly attempts: number;
  /** The last error message of the search engine. */
  readonly lastError: string;
  /** The time of the last failure, in milliseconds since 1970. */
  readonly at: number;
}

export function createOutboxReport(outbox: SearchOutbox): Report {
  return {
    name: "outbox",
    method: "GET",
    async answer(): Promise<OutboxReport> {
      const [stats, dead] = await Promise.all([outbox.stats(), outbox.dead(200)]);
      return {
        stats,
        dead: dead.map(({ index, docId, attempts, reason, deadSince }) => ({
          ...{ id: `${encodeURIComponent(index)}/${docId}`, index, key: docId },
          ...{ attempts, lastError: reason, at: deadSince },
        })),
      };
    },
  };
}

/** Creates the action that retries dead outbox entries. `ids` in its body is a list or `"all"`. */
export function createOutboxReplayAction(outbox: SearchOutbox): Report {
  return {
    name: "outbox-replay",
    method: "POST",
    writes: true,
    async answer({ body }) {
      const ids = memberOf(body, "ids");
      if (ids === "all") return { replayed: await outbox.replayDead() };
      if (!Array.isArray(ids) || ids.length > 200) throw wrongIds();
      return { replayed: await outbox.replayDead(ids.map(nameOf)) };
    },
  };
}

function nameOf(id: unknown): DocumentName {
  const [, index, docId] = /^([^/]+)\/(.+)$/.exec(typeof id === "string" ? id : "") ?? [];
  if (index === undefined || docId === undefined) throw wrongIds();
  try {
    return { index: decodeURIComponent(index), docId };
  } catch {
    throw wrongIds();
  }
}

function wrongIds(): Problem {
  return new Problem(
    "invalid-body",
    'Cannot replay: "ids" must be "all", or up to 200 ids of the report',
  );
}
