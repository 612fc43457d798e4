import { assert } from "@std/assert";
import { EventRenderer } from "../../../../src/live/dispatch/subscriber_group.ts";
import type { RowChange, Transition } from "../../../../src/live/match/row_change.ts";
import { RelatedFilterDispatch } from "../../../../src/live/dispatch/related_filter_dispatch.ts";
import { all } from "../../../../src/filter/builders.ts";
import { rsql } from "../../../../src/filter/filter_text.ts";
import {
  resource,
  type ResourceDefinition,
} from "../../../../src/resource/define/resource_definition.ts";
import { run } from "../../../support/scratch.ts";
import { testUnless } from "../../../support/skip.ts";
import type { Sabotage } from "./cast.ts";
import type { Rule } from "./findings.ts";
import { findOldSqlite } from "./old_sqlite.ts";
import type { GivenOptions } from "./options.ts";
import { definitions } from "./rights.ts";
import { missingServer, runWorlds } from "./run_worlds.ts";
import { tags } from "./tables.ts";

/** Something done wrong, and the promises by which that may be found. */
interface Wrong {
  readonly what: string;
  /** The first seed, in place of 1: a world that shows it soon. */
  readonly seed?: number;
  readonly rules: readonly Rule[];
  readonly given: GivenOptions;
  readonly sabotage?: Sabotage;
  /** Puts something wrong in the place of a method until it is disposed of. */
  readonly replace?: () => Disposable;
}

const plain: GivenOptions = {
  ...{ engine: "sqlite", mode: "triggers", scope: "own", includes: false, aggregates: false },
  ...{ writer: "sql", crashes: false },
};

/** Changes every so-manieth event of the ones that a pattern finds. */
function wire(pattern: RegExp, change: (found: string) => string, times = 1): Sabotage {
  return {
    wire: () => {
      let count = 0;
      return (text) =>
        text.replace(pattern, (found) => ++count % times === 0 ? change(found) : found);
    },
  };
}

const changeEvent = /event: (?:added|changed)\n.*\n\n/g;

const wrongs: readonly Wrong[] = [
  {
    what: "events lack their ids",
    rules: ["ids"],
    given: plain,
    sabotage: wire(/"id":\d+,(?="item")/g, () => ""),
  },
  {
    what: "events have positions themselves",
    rules: ["members"],
    given: plain,
    sabotage: wire(/event: changed/g, (found) => `id: here\n${found}`),
  },
  {
    what: "one change in thirty is sent as an addition",
    rules: ["types"],
    given: plain,
    sabotage: wire(changeEvent, (found) => found.replaceAll("changed", "added"), 30),
  },
  {
    what: "one event in fifty is sent twice",
    rules: ["order"],
    given: plain,
    sabotage: wire(changeEvent, (found) => found + found, 50),
  },
  {
    what: "one event in fifty is lost",
    rules: ["moments", "types", "quiet"],
    given: plain,
    sabotage: wire(changeEvent, () => "", 50),
  },
  {
    what: "a position stands in the middle of a commit",
    rules: ["moments"],
    given: plain,
    sabotage: wire(
      /(event: (?:added|changed|removed)\n.*\n\n){2,}id: .*\n\n/g,
      (found) => found.replace("\n\n", `\n\n${/id: .*\n\n$/.exec(found)?.[0] ?? ""}`),
    ),
  },
  {
    what: "a rolled back write is sent",
    seed: 3,
    rules: ["undone"],
    given: plain,
    sabotage: wire(/"title":"t-/g, () => '"title":"undone-', 3),
  },
  {
    what: "reals have 15 digits, as an old SQLite writes them",
    rules: ["leak"],
    given: plain,
    sabotage: wire(/0\.30000000000000004|0\.3333333333333333/g, (found) => found.slice(0, 17)),
  },
  {
    what: "a sum is one too many",
    rules: ["aggregate-moments"],
    given: { ...plain, aggregates: true },
    sabotage: wire(/(?<="sum":\{"size":)\d+/g, (found) => String(Number(found) + 1), 5),
  },
  {
    what: "the last digit of an average is wrong",
    seed: 2,
    rules: ["aggregate-quiet"],
    given: { ...plain, aggregates: true },
    sabotage: wire(
      /(?<="avg":\{"price":"-?\d+\.\d+)\d(?=")/g,
      (found) => found === "1" ? "2" : "1",
    ),
  },
  {
    what: "where related rows decide, a row is sent as it was",
    rules: ["leak"],
    given: { ...plain, scope: "relation" },
    replace: tellingTheStep,
  },
  {
    what: "a row is sent as it was before its change",
    rules: ["leak", "moments", "quiet"],
    given: plain,
    replace: tellingThePast,
  },
  {
    what: "one deletion in five is not recorded",
    rules: ["moments", "types", "quiet", "leak"],
    given: plain,
    sabotage: {
      spoil: async (db) => {
        await run(
          db,
          `CREATE TRIGGER forgetful AFTER INSERT ON "_service_changes"
           WHEN new.op = 'delete' AND new.seq % 5 = 0
           BEGIN DELETE FROM "_service_changes" WHERE seq = new.seq; END`,
        );
      },
    },
  },
  {
    what: "included rows are shown without their rights",
    rules: ["leak-included"],
    given: { ...plain, includes: true, links: "unserved" },
    sabotage: {
      resources: (options) =>
        definitions(options).map((one): ResourceDefinition => {
          const shown = (id: string) =>
            id === "root" ? all() : rsql`visibleTo==${id},visibleTo==null`;
          const auth = {
            read: () => all(),
            subscribe: ({ id }: { readonly id: string }) => shown(id),
          };
          return one.table === tags ? resource(tags, { id: tags.id, auth }) : one;
        }),
    },
  },
];

/** Beside three other parts of the tests, on two processors. */
const maxSeconds = 90;

for (const wrong of wrongs) {
  Deno.test(`worlds: caught within ${maxSeconds} s: ${wrong.what}`, async () => {
    using _replaced = wrong.replace?.() ?? { [Symbol.dispose]: () => {} };
    await requireCaught(wrong);
  });
}

const old = await findOldSqlite();
testUnless(
  "missing" in old ? old.missing : null,
  `worlds: caught within ${maxSeconds} s: what another SQLite replaces is not recorded`,
  () =>
    requireCaught({
      what: "",
      rules: ["moments", "types", "quiet", "leak"],
      given: { ...plain, writer: "old-sqlite" },
      sabotage: {
        spoil: async (db) => {
          await run(
            db,
            `CREATE TRIGGER forgetful AFTER INSERT ON "_service_replaced"
             BEGIN DELETE FROM "_service_replaced"; END`,
          );
        },
      },
    }),
);

testUnless(
  missingServer,
  "worlds: caught: positions of before a crash count after it",
  () =>
    requireCaught({
      what: "",
      rules: ["types", "quiet", "order", "leak"],
      given: { ...plain, engine: "postgres", writer: "transactions", crashes: true },
      sabotage: {
        spoil: async (db) => {
          // Kept over a recovery, it does not show that there was one.
          await run(db, `ALTER TABLE IF EXISTS "_service_epoch" SET LOGGED`);
        },
      },
    }, 60),
);

testUnless(
  missingServer,
  "worlds: caught: what others write is not recorded, as by mode service",
  () =>
    requireCaught({
      what: "",
      rules: ["types", "quiet", "leak"],
      given: { ...plain, engine: "postgres", mode: "service", writer: "sql", services: 2 },
    }),
);

async function requireCaught(
  { rules, seed = 1, given, sabotage: wrong = {} }: Wrong,
  seconds = maxSeconds,
): Promise<void> {
  const sabotage = { busyTimeoutMs: 1_500, ...wrong };
  const options = { seed, events: Infinity, maxMs: seconds * 1_000, given, sabotage };
  const { failure, rule, events, elapsedMs } = await runWorlds(options);
  assert(failure !== null && rule !== null, `nothing was found in ${events} events`);
  assert(rules.includes(rule), `found by ${rule}: ${failure}`);
  console.log(`${rule} after ${events} events, ${Math.round(elapsedMs)} ms`);
}

/** Rows that the present database decides are sent as the step has them. */
function tellingTheStep(): Disposable {
  const { matchRow, evaluate } = RelatedFilterDispatch.prototype;
  type Met = Map<Parameters<typeof matchRow>[0], RowChange[]>;
  const met = new WeakMap<RelatedFilterDispatch, Met>();
  RelatedFilterDispatch.prototype.matchRow = function (group, rowChange) {
    const ofGroups: Met = met.get(this) ?? new Map();
    ofGroups.set(group, [...ofGroups.get(group) ?? [], rowChange]);
    met.set(this, ofGroups);
    return matchRow.call(this, group, rowChange);
  };
  RelatedFilterDispatch.prototype.evaluate = async function (to) {
    const ofGroups = met.get(this);
    const sent = await evaluate.call(this, to);
    return new Map([...sent].map(([group, events]) => {
      // Of its own table: other tables have the same ids.
      const first = new Map<unknown, RowChange>();
      for (const rowChange of ofGroups?.get(group) ?? []) {
        const id = rowChange.after?.row["id"];
        if (!first.has(id)) first.set(id, rowChange);
      }
      const old = (event: Transition): Transition => {
        const { rowChange } = event;
        const after = first.get(rowChange.after?.row["id"])?.after;
        return after === undefined ? event : { ...event, rowChange: { ...rowChange, after } };
      };
      return [group, events === null ? null : { ...events, events: events.events.map(old) }];
    }));
  };
  return {
    [Symbol.dispose]: () => {
      Object.assign(RelatedFilterDispatch.prototype, { matchRow, evaluate });
    },
  };
}

function tellingThePast(): Disposable {
  const sound = EventRenderer.prototype.add;
  EventRenderer.prototype.add = function (event) {
    const { rowChange } = event;
    const { before, after } = rowChange;
    // Row changes are readonly for all code but this fault.
    if (before !== null && after !== null) Object.assign(rowChange, { after: before });
    return sound.call(this, event);
  };
  return {
    [Symbol.dispose]: () => {
      EventRenderer.prototype.add = sound;
    },
  };
}
