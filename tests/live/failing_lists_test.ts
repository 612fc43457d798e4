import { assertEquals } from "@std/assert";
import { all } from "../../src/filter/builders.ts";
import { canonicalFilterText } from "../../src/filter/canonical_filter.ts";
import { allRows, and, comparison, type Filter } from "../../src/filter/filter.ts";
import { equalOperator, notEqualOperator } from "../../src/filter/operators/operator_registry.ts";
import type { Matcher } from "../../src/live/match/matcher.ts";
import { noRowsShown } from "../../src/live/live_view.ts";
import { resource } from "../../src/resource/define/resource_definition.ts";
import { integer } from "../../src/schema/column_builder.ts";
import { relationStep } from "../../src/schema/relation.ts";
import { table } from "../../src/schema/table.ts";
import { columnInfoOf, tableInfoOf } from "../../src/schema/table_like.ts";
import { testOnDialects, withService } from "../support/http.ts";
import { type TestHub, untilIdle, withHub } from "./hub_support.ts";
import { openMultiplexed } from "./multiplexed_support.ts";

const projects = table("projects", { id: integer().primaryKey(), ownerId: integer().notNull() });
const items = table("items", {
  id: integer().primaryKey(),
  projectId: integer().notNull().default(1),
  rank: integer().notNull().default(0),
});
const id = columnInfoOf(items.id);

/** Passes every row, and throws for those of rank 13 in {@link failing}. */
const badFilter = comparison(notEqualOperator, id, [-99]);

function failing(matcher: Matcher): Matcher {
  return {
    ...matcher,
    compile(filter) {
      const decide = matcher.compile(filter);
      if (!canonicalFilterText(filter).includes("-99")) return decide;
      return (image) => {
        if (image.row["rank"] === 13) throw new Error("A filter that throws");
        return decide(image);
      };
    },
  };
}

/** The first of two streams fails at a write, and the other continues. */
async function failsAlone(
  { subscribe, sql, observations, hub }: TestHub,
  requests: readonly [Parameters<TestHub["subscribe"]>[0], Parameters<TestHub["subscribe"]>[0]],
  write: string,
): Promise<void> {
  await sql("INSERT INTO projects VALUES (1, 1), (2, 2)");
  await sql("INSERT INTO items VALUES (9, 2, 13)");
  const bad = await subscribe(requests[0]);
  const other = await subscribe(requests[1]);
  for (const stream of [bad, other]) {
    await stream.untilSynced();
    await stream.untilToken();
  }
  await sql(write);
  await untilIdle();
  await sql("INSERT INTO items VALUES (50, 1, 0)");
  for (let last = 0; last !== 50;) {
    const [event] = await other.take(1);
    assertEquals(event?.type, "added");
    last = event?.data.item.id;
  }
  assertEquals(await bad.untilEnd(), []);
  assertEquals([observations.map(({ kind }) => kind), hub.size], [["stream_failed"], 1]);
  await other.close();
}

const both = "INSERT INTO items VALUES (1, 1, 13), (2, 1, 0)";
const options = { related: [projects], wrapMatcher: failing };

testOnDialects(
  "a filter that throws for a row ends its own streams, and no others",
  (engine) =>
    withHub(
      engine,
      items,
      options,
      (test) => failsAlone(test, [{ scope: badFilter }, { scope: allRows }], both),
    ),
);

testOnDialects(
  "a filter along a relation that throws ends its own streams, and no others",
  (e) =>
    withHub(
      e,
      items,
      options,
      (test) =>
        failsAlone(
          test,
          [{ scope: and(badFilter, ownProjects()) }, { scope: ownProjects() }],
          both,
        ),
    ),
);

testOnDialects(
  "so does one that throws for a row whose related row has changed",
  (engine) =>
    withHub(engine, items, options, (test) =>
      failsAlone(
        test,
        [{ scope: and(badFilter, ownProjects()) }, { scope: ownProjects() }],
        `UPDATE projects SET "ownerId" = 1 WHERE id = 2`,
      )),
);

testOnDialects("a row that cannot be shown ends the streams that have it, and no others", (e) => {
  const view = {
    ...{ ...noRowsShown, key: "all", shape: "all" },
    present: (rows: readonly Readonly<Record<string, unknown>>[]) =>
      rows.map((row) => {
        if (row["rank"] === 13) throw new Error("A row that cannot be shown");
        return row;
      }),
  };
  const of = (value: number) => ({ view, scope: comparison(equalOperator, id, [value]) });
  const many = {
    view,
    scope: { kind: "or", terms: [of(2).scope, of(50).scope] } satisfies Filter,
  };
  return withHub(e, items, options, (test) => failsAlone(test, [of(1), many], both));
});

testOnDialects(
  "a value that JSON cannot have ends its list, and no other of its client",
  (engine) => {
    const ring: unknown[] = [];
    ring.push(ring);
    return withService(engine, [items], () => ({
      resources: [
        resource(items, {
          id: items.id,
          auth: { public: true, create: () => all() },
          computed: { ring: ({ rank }) => rank === 13 ? ring : null },
        }),
      ],
    }), async (service) => {
      const stream = await openMultiplexed(service, [
        { key: "bad", path: "/api/items/subscribe?filter=id<10" },
        { key: "other", path: "/api/items/subscribe?filter=id>10" },
        { key: "count", path: "/api/items/aggregate/subscribe?count=true" },
      ]);
      const has = (key: string, part: string) => stream.texts.get(key)?.includes(part) === true;
      await stream.until(() => has("bad", "hasMore") && has("other", "hasMore"));
      await service.send("POST", "/api/items", { id: 1, rank: 13 }, { "x-user": "ada" });
      await stream.until(() => stream.ended.length > 0);
      assertEquals(stream.ended, ["bad"]);
      await service.send("POST", "/api/items", { id: 50, rank: 1 }, { "x-user": "ada" });
      await stream.until(() => has("other", `"id":50`) && has("count", `"count":2`));
      assertEquals(stream.ended, ["bad"]);
      await stream.close();
    });
  },
);

/** The items of the projects of the user. */
function ownProjects(): Filter {
  const target = tableInfoOf(projects);
  const pair = { own: columnInfoOf(items.projectId), other: columnInfoOf(projects.id) };
  return {
    kind: "related",
    relation: {
      name: "project",
      owner: tableInfoOf(items),
      target,
      type: "belongsTo",
      filterable: true,
      toMany: false,
      steps: [relationStep(target, [pair])],
    },
    filter: comparison(equalOperator, columnInfoOf(projects.ownerId), [1]),
    links: allRows,
  };
}
