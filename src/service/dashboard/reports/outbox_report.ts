import { Problem } from "../../../problem/problem.ts";
import type { DocumentName } from "../../../search/outbox/outbox_entry.ts";
import type { SearchOutbox } from "../../../search/outbox/search_outbox.ts";
import { memberOf } from "../action_body.ts";
import type { Report } from "../report.ts";

/** Creates the report of the search outbox, with the 200 oldest entries that failed too often. */
export function createOutboxReport(outbox: SearchOutbox): Report {
  return {
    name: "outbox",
    method: "GET",
    async answer() {
      const [stats, dead] = await Promise.all([outbox.stats(), outbox.dead(200)]);
      return {
        stats,
        dead: dead.map(({ index, docId, attempts, reason, deadSince }) => ({
          // The action {@link createOutboxReplayAction} accepts these ids.
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
