import { assert, assertEquals } from "@std/assert";
import { comparison, type Filter } from "../../src/filter/filter.ts";
import { filterWork } from "../../src/filter/filter_work.ts";
import { likeOperator } from "../../src/filter/operators/text_operators.ts";
import type { Operator } from "../../src/filter/operators/operator.ts";
import { burstSteps, WorkMeter } from "../../src/live/match/matcher.ts";
import { resource } from "../../mod.ts";
import { integer, text } from "../../src/schema/column_builder.ts";
import { table } from "../../src/schema/table.ts";
import { tableInfoOf } from "../../src/schema/table_like.ts";
import { filterOf } from "../filter/support.ts";
import { handClock } from "../db/hand_clock.ts";
import type { EventStream } from "../support/event_stream.ts";
import { insertRows, testOnEngines, withService } from "../support/http.ts";
import { type TestHub, withHub } from "./hub_support.ts";

const notes = table("notes", { id: integer().primaryKey(), body: text().notNull() });
const info = tableInfoOf(notes);
const body = info.byName.get("body")!;

/** About 4 kB of a filter's text, of patterns that count. */
const dear = (mark: string) => `body%="%${"_".repeat(90)}${mark.padStart(8, "z")}%"`;
const five = (mark: number) =>
  Array.from({ length: 5 }, (_, one) => dear(`${mark}${one}`)).join(",");

testOnEngines(
  "anonymous streams with dear text filters are refused after the second",
  (engine) =>
    withService(
      engine,
      [notes],
      () => ({
        basePath: "/api",
        resources: [resource(notes, { id: notes.id, auth: { public: { subscribe: true } } })],
      }),
      async ({ get, subscribe }) => {
        const path = (filter: string) =>
          `/api/notes/subscribe?filter=${encodeURIComponent(filter)}`;
        const first = await subscribe(path(five(1)));
        const second = await subscribe(path(five(2)));
        const refused = await get(path(five(3)));
        assertEquals([refused.status, refused.body.code], [422, "QUERY_TOO_EXPENSIVE"]);
        const plain = await subscribe(path("id>1"));
        await first.untilSynced();
        await first.close();
        const others: EventStream[] = [];
        for (let id = 0; id < 40; id++) others.push(await subscribe(path(`body=icontains=w${id}`)));
        for (const one of [second, plain, ...others]) await one.close();
      },
    ),
);

Deno.test("the work in memory is a burst, and then a share of the time", () => {
  const { clock, advance } = handClock();
  const meter = new WorkMeter(clock);
  assert(!meter.take(burstSteps + 1), "never so much at once");
  assert(meter.take(burstSteps - 1) && meter.take(1) && !meter.take(1));
  advance(50);
  assert(meter.take(burstSteps / 2) && !meter.take(burstSteps / 2));
  advance(60_000);
  assert(meter.take(burstSteps) && !meter.take(1), "time that was not used is lost");
});

/** Patterns that count the steps of memory, whatever allows them. */
function countingFilters(count: number): { readonly filters: Filter[]; steps: number } {
  const counted = { filters: [] as Filter[], steps: 0 };
  for (let index = 0; index < count; index++) {
    const operator: Operator = {
      ...likeOperator,
      matches(value, values, column) {
        counted.steps += filterWork(filter) * String(value).length;
        return likeOperator.matches(value, values, column);
      },
    };
    const filter = comparison(operator, body, [`%${"_".repeat(80)}${index}%`]);
    counted.filters.push(filter);
  }
  return counted;
}

function withStreams(
  count: number,
  work: (
    test: TestHub,
    streams: readonly EventStream[],
    steps: () => number,
  ) => Promise<void>,
): (engine: Parameters<typeof withHub>[0]) => Promise<void> {
  return (engine) =>
    withHub(engine, notes, {}, async (test) => {
      const counted = countingFilters(count);
      const streams: EventStream[] = [];
      for (const filter of counted.filters) streams.push(await test.subscribe({ filter }));
      for (const stream of streams) await stream.untilSynced();
      for (const stream of streams) await stream.untilToken();
      await work(test, streams, () => {
        const { steps } = counted;
        counted.steps = 0;
        return steps;
      });
      for (const stream of streams) await stream.close();
    });
}

const long = (characters: number) =>
  `${"a".repeat(characters)}${Array.from({ length: 50 }, (_, index) => index).join(" ")}`;

testOnEngines(
  "a row of 20 kB is matched with fifty dear filters by the database",
  withStreams(50, async ({ db }, streams, steps) => {
    await insertRows(db, notes, [{ id: 1, body: long(20_000) }]);
    for (const stream of streams) {
      const [event] = await stream.take(1);
      assertEquals([event?.type, event?.data.item.id], ["added", 1]);
    }
    const taken = steps();
    assert(taken > 0 && taken <= burstSteps, `${taken} steps in memory`);
    await db.query({ text: "UPDATE notes SET body = 'short'", values: [] });
    for (const stream of streams) {
      assertEquals((await stream.take(1))[0]?.type, "removed");
    }
    assert(steps() <= burstSteps);
  }),
);

testOnEngines(
  "a row of 1 MB is not matched with a dear filter in memory",
  withStreams(3, async ({ db }, streams, steps) => {
    await insertRows(db, notes, [{ id: 1, body: long(1_000_000) }]);
    for (const stream of streams) {
      assertEquals((await stream.take(1))[0]?.type, "added");
    }
    assertEquals(steps(), 0);
  }),
);

testOnEngines(
  "the events of a stream keep their order where the database matches some of the changes",
  withStreams(2, async ({ db }, streams) => {
    const bodies = Array.from({ length: 12 }, (_, index) => long(index % 2 === 0 ? 90 : 200_000));
    await insertRows(db, notes, bodies.map((body, id) => ({ id, body })));
    for (const stream of streams) {
      const events = await stream.take(bodies.length);
      assertEquals(events.map(({ data }) => data.item.id), bodies.map((_, id) => id));
    }
  }),
);

Deno.test("the work of a filter is that of its text searches", () => {
  const work = (filter: string) => filterWork(filterOf(filter, info));
  assertEquals(work("id==1;body==x;body=in=(a,b);body>c"), 0);
  assertEquals(work("body=contains=x;body%='%x%'"), 2);
  assertEquals(work("body=icontains=x,body=ilike='%x%'"), 10);
  assertEquals(work("body%='a%bcd_%e'"), 4);
  assertEquals(work(five(1)), 5 * 98);
});
