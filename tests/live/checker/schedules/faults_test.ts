import { assert } from "@std/assert";
import type { Change } from "../../../../src/db/changes/change_log.ts";
import type { Filter } from "../../../../src/filter/filter.ts";
import type { RowImage } from "../../../../src/filter/match/row_matches.ts";
import {
  greaterOperator,
  greaterOrEqualOperator,
  lessOperator,
  lessOrEqualOperator,
  notEqualOperator,
} from "../../../../src/filter/operators/operator_registry.ts";
import type { InMemoryMatcher } from "../../../../src/filter/match/in_memory_matcher.ts";
import {
  EventRenderer,
  type SubscriberGroup,
} from "../../../../src/live/dispatch/subscriber_group.ts";
import { EqualityIndex } from "../../../../src/live/match/equality_index.ts";
import { ChangeHistory } from "../../../../src/live/feed/change_history.ts";
import { type SnapshotPage, SnapshotReader } from "../../../../src/live/stream/snapshot_reader.ts";
import type { Row } from "../../../../src/schema/table_info.ts";
import { run } from "../../../support/scratch.ts";
import { logMethods } from "../../log_methods.ts";
import { checkStreams } from "./check_streams.ts";
import type { Fault } from "./instance.ts";
import type { Database } from "../../../../src/db/database.ts";

/** A part of the engine done wrong, in one of the ways in which engines of this kind have been. */
interface Wrong {
  readonly what: string;
  /** The first seed, in place of 1: a run that finds it soon. */
  readonly seed?: number;
  readonly fault?: Fault;
  readonly spoil?: (db: Database) => Promise<void>;
  /** Puts something wrong in the place of a method until it is disposed of. */
  readonly replace?: () => Disposable;
}

const wrongs: readonly Wrong[] = [
  {
    what: "REPLACE drives rows out unseen, as nothing is noted before",
    seed: 5,
    spoil: async (db) => {
      await run(
        db,
        `CREATE TRIGGER IF NOT EXISTS no_notes AFTER INSERT ON "_service_replaced"
         BEGIN DELETE FROM "_service_replaced"; END`,
      );
    },
  },
  {
    what: "groups are found by what a row is and not by what it was",
    seed: 12,
    replace: () =>
      replaced(
        EqualityIndex.prototype,
        "visit",
        (visit) =>
          function (this: EqualityIndex<SubscriberGroup>, rowChange, each) {
            // A row that is gone is all that there is to find by.
            const { before, after } = rowChange;
            visit.call(
              this,
              { ...rowChange, before: after === null ? before : null },
              each,
            );
          },
      ),
  },
  {
    what: "texts are ordered by UTF-16 units, as JavaScript's < does",
    fault: { matcher: (matcher) => ({ ...matcher, compile: decidingBy(matcher.compile, utf16) }) },
  },
  {
    what: "NULL is not equal to something, as in JavaScript",
    fault: {
      matcher: (matcher) => ({ ...matcher, compile: decidingBy(matcher.compile, nullIsUnequal) }),
    },
  },
  {
    what: "rows are masked before computed fields are made of them",
    fault: {
      request: (request) => ({
        ...request,
        view: {
          ...request.view,
          present: (rows, identity) =>
            request.view.present(
              rows.map(({ secret: _hidden, ...rest }): Row => rest),
              identity,
            ),
        },
      }),
    },
  },
  {
    what: "a position follows a page that is not the last",
    replace: () =>
      replaced(
        SnapshotReader.prototype,
        "read",
        (read) =>
          async function (this: SnapshotReader, ...args) {
            const page = await read.apply(this, args);
            const token = new TextEncoder().encode(`id: s.${"0".repeat(16)}.1\n\n`);
            const bytes = Uint8Array.from([...page.bytes, ...token]);
            return page.next === null ? page : { ...page, bytes };
          },
      ),
  },
  {
    what: "the frontier of a snapshot lags by a page",
    seed: 8,
    replace: () =>
      replaced(
        SnapshotReader.prototype,
        "read",
        (read) =>
          async function (this: SnapshotReader, group, request): Promise<SnapshotPage> {
            const page = await read.call(this, group, request);
            const [column] = group.query.table.primaryKey;
            const key = request.start?.key ?? [column?.kind === "text" ? "" : -1];
            return page.next === null ? page : { ...page, next: { ...page.next, key } };
          },
      ),
  },
  {
    what: "a page is taken for newer than it is",
    fault: {
      log: (log) => ({
        ...logMethods(log),
        async readAt(statement) {
          const page = await log.readAt(statement);
          // Time for other writes.
          for (let turn = 0; turn < 30; turn++) await new Promise(setImmediate);
          return { ...page, position: await log.end() };
        },
      }),
    },
  },
  {
    what: "a stream resumes one change too late",
    fault: {
      log: (log) => ({
        ...logMethods(log),
        parse(token) {
          const position = log.parse(token);
          return position?.kind === "sequence" ? { ...position, seq: position.seq + 1 } : position;
        },
      }),
    },
  },
  {
    what: "changes are forgotten and the floor stays",
    seed: 2,
    spoil: async (db) => {
      await run(
        db,
        `CREATE TRIGGER IF NOT EXISTS no_floor AFTER UPDATE ON "_service_meta"
         WHEN new.name = 'floor' AND new.value <> '0'
         BEGIN UPDATE "_service_meta" SET value = '0' WHERE name = 'floor'; END`,
      );
      // What is left of the log seems to vouch for the positions of its clients.
      await run(
        db,
        `CREATE TRIGGER IF NOT EXISTS left_over BEFORE DELETE ON "_service_changes"
         WHEN old.seq % 3 = 0 BEGIN SELECT RAISE(IGNORE); END`,
      );
    },
  },
  {
    what: "a row that is shown to one is changed for the next",
    replace: () =>
      replaced(EventRenderer.prototype, "text", (text) =>
        function (this: EventRenderer, event) {
          const written = text.call(this, event);
          // Rows are readonly for all code but this fault.
          const row = event.rowChange.after?.row as Record<string, unknown> | undefined;
          if (row !== undefined) row["title"] = null;
          return written;
        }),
  },
  {
    what:
      "a client that was away receives the last change of a row, without what the row was before",
    seed: 2,
    replace: () =>
      replaced(
        ChangeHistory.prototype,
        "read",
        (read) =>
          async function (this: ChangeHistory, cursor, most) {
            const window = await read.call(this, cursor, most);
            return window === null ? null : { ...window, changes: lastOfEach(window.changes) };
          },
      ),
  },
  {
    what: "an invalidation leaves the client its position",
    fault: {
      stream: (stream) =>
        stream.pipeThrough(
          new TransformStream({
            transform(chunk: Uint8Array, controller) {
              const text = new TextDecoder().decode(chunk).replace("id:\n\n", "");
              controller.enqueue(new TextEncoder().encode(text));
            },
          }),
        ),
    },
  },
  {
    what: "the end of another one's log is taken for its own: a step is skipped",
    fault: {
      log: (log) => {
        let count = 0;
        return {
          ...logMethods(log),
          async next(from) {
            const step = await log.next(from);
            const isSkipped = step !== null && step.changes.length > 0 && ++count % 20 === 0;
            return isSkipped ? { ...step, changes: [] } : step;
          },
        };
      },
    },
  },
];

/** Beside three other parts of the tests, on two processors. */
const maxSeconds = 90;

for (const { what, seed = 1, fault = {}, spoil, replace } of wrongs) {
  Deno.test(`caught within ${maxSeconds} s: ${what}`, async () => {
    using _wrong = replace?.() ?? { [Symbol.dispose]: () => {} };
    const { failure, events, elapsedMs } = await checkStreams({
      seed,
      events: Infinity,
      maxMs: maxSeconds * 1_000,
      fault,
      ...(spoil === undefined ? {} : { spoil }),
    });
    assert(failure !== null, `${events} events were checked, and nothing was found`);
    console.log(`after ${events} events, ${Math.round(elapsedMs)} ms: ${failure.slice(0, 300)}`);
  });
}

function replaced<T extends object, K extends keyof T>(
  target: T,
  name: K,
  make: (sound: T[K]) => T[K],
): Disposable {
  const sound = target[name];
  target[name] = make(sound);
  return {
    [Symbol.dispose]: () => {
      target[name] = sound;
    },
  };
}

/** What memory decides by instead; undefined where it decides as before. */
type Verdict = (
  filter: Filter & { readonly kind: "compare" },
  image: RowImage,
) => boolean | undefined;

function decidingBy(compile: (filter: Filter) => InMemoryMatcher, verdict: Verdict) {
  return (filter: Filter): InMemoryMatcher => {
    if (filter.kind === "and" || filter.kind === "or") {
      const terms = filter.terms.map(decidingBy(compile, verdict));
      const settling = filter.kind === "or";
      return (image) => {
        const answers = terms.map((decide) => decide(image));
        if (answers.includes(settling)) return settling;
        return answers.includes(null) ? null : !settling;
      };
    }
    const sound = compile(filter);
    if (filter.kind !== "compare") return sound;
    return (image) => verdict(filter, image) ?? sound(image);
  };
}

const utf16: Verdict = ({ column, operator, values: [requested] }, { row }) => {
  const value = row[column.name];
  if (typeof value !== "string" || typeof requested !== "string" || column.kind !== "text") {
    return undefined;
  }
  if (operator === lessOperator) return value < requested;
  if (operator === lessOrEqualOperator) return value <= requested;
  if (operator === greaterOperator) return value > requested;
  if (operator === greaterOrEqualOperator) return value >= requested;
  return undefined;
};

const nullIsUnequal: Verdict = ({ column, operator, values: [requested] }, { row }) =>
  operator === notEqualOperator && requested !== null && row[column.name] === null
    ? true
    : undefined;

function lastOfEach(changes: readonly Change[]): readonly Change[] {
  const last = new Map<unknown, Change>();
  for (const change of changes) {
    const row = change.after ?? change.before;
    last.set(row === null ? change : `${change.table.name} ${row["id"] ?? row["code"]}`, change);
  }
  return changes.filter((change) => [...last.values()].includes(change));
}
