import { assert, assertEquals, assertStringIncludes } from "@std/assert";
import { tableChanges } from "../../src/cli/reopen/table_states.ts";
import { resource } from "../../src/resource/define/resource_definition.ts";
import { rsql } from "../../src/filter/filter_text.ts";
import type { EventStream } from "../support/event_stream.ts";
import { boolean, integer, text } from "../../src/schema/column_builder.ts";
import { table } from "../../src/schema/table.ts";
import {
  docs,
  links,
  owned,
  secured,
  startApp,
  startCommand,
  type Started,
  tables,
  testWithRole,
  type World,
} from "./row_security_support.ts";

const forced = `${tables} ${secured} ${owned} ALTER TABLE docs FORCE ROW LEVEL SECURITY;`;

/** Serves links to documents whose title contains "tea", to any user. */
function startLinks(world: World): Promise<Started> {
  const onTea = () => rsql`doc.title=icontains=${"tea"}`;
  return startApp(world, {
    auth: {
      middleware: async (context, next) => {
        context.set("user", { id: "ada" });
        await next();
      },
    },
    resources: [
      resource(docs, {
        id: docs.id,
        auth: { public: { read: true } },
        capabilities: { enableSubscribe: false },
      }),
      resource(links, {
        id: links.id,
        auth: { read: onTea, subscribe: onTea },
        relations: { doc: { type: "belongsTo", resource: docs, foreignKey: links.docId } },
      }),
    ],
  });
}

/** The rows that a client of a stream holds, from all events until the list is the same. */
async function heldBy(stream: EventStream, expected: unknown): Promise<void> {
  const items = new Map<number, unknown>();
  while (JSON.stringify([...items.values()]) !== JSON.stringify(expected)) {
    const event = await stream.next();
    assert(event !== null, `the stream ended without ${JSON.stringify(expected)}`);
    const { type, data } = event;
    if (type === "invalidate") items.clear();
    if (type === "removed") items.delete(data.id);
    for (const item of data.items ?? [data.item ?? []].flat()) items.set(item.id, item);
  }
}

testWithRole("a scope along a table with policies follows its rows", async (world) => {
  await world.run(forced);
  await using started = await startLinks(world);
  const stream = await started.subscribe("/links/subscribe");
  const total = await started.subscribe("/links/aggregate/subscribe?count=true");
  const [one, two] = [{ id: 1, docId: 1, name: "a" }, { id: 2, docId: 2, name: "b" }];
  const countOf = async (count: number) => {
    while ((await total.next())?.data.groups[0].count !== count);
  };
  await heldBy(stream, [one]);
  await countOf(1);
  await world.run("UPDATE docs SET visible = false WHERE id = 1");
  await heldBy(stream, []);
  await countOf(0);
  await world.run("UPDATE docs SET visible = true WHERE id = 2");
  await heldBy(stream, [two]);
  await countOf(1);
  await Promise.all([stream.close(), total.close()]);
});

testWithRole("streams along a table start over when its policies begin to apply", async (world) => {
  await world.run(`${tables} ${secured} ${owned}`);
  await using started = await startLinks(world);
  const including = await started.subscribe("/links/subscribe?include=doc(select:title)&select=id");
  const scoped = await started.subscribe("/links/subscribe?select=id");
  const total = await started.subscribe("/links/aggregate/subscribe?count=true");
  await heldBy(scoped, [{ id: 1 }, { id: 2 }]);
  await heldBy(including, [
    { id: 1, doc: { title: "tea" } },
    { id: 2, doc: { title: "hidden tea" } },
  ]);
  assertEquals((await total.next())?.data.groups, [{ count: 2, key: null }]);
  await world.run("ALTER TABLE docs FORCE ROW LEVEL SECURITY");
  await heldBy(scoped, [{ id: 1 }]);
  await heldBy(including, [{ id: 1, doc: { title: "tea" } }]);
  assertEquals((await total.next())?.data.groups, [{ count: 1, key: null }]);
  await world.run("ALTER TABLE docs NO FORCE ROW LEVEL SECURITY");
  await heldBy(scoped, [{ id: 1 }, { id: 2 }]);
  await Promise.all([scoped.close(), including.close(), total.close()]);
});

testWithRole("a total over a view with policies is counted", async (world) => {
  await world.run(`${forced} CREATE VIEW shown WITH (security_invoker) AS SELECT * FROM docs;
    CREATE VIEW every AS SELECT * FROM docs;
    GRANT SELECT ON shown, every TO ROLE_;
    INSERT INTO docs SELECT n, 'many', n % 10 = 0 FROM generate_series(3, 30000) AS n;
    ANALYZE docs`);
  const columns = { id: integer().primaryKey(), title: text(), visible: boolean() };
  const [shown, every] = [table("shown", columns), table("every", columns)];
  const auth = { auth: { public: { read: true } } } as const;
  await using started = await startApp(world, {
    resources: [
      resource(shown, { id: shown.id, ...auth }),
      resource(every, { id: every.id, ...auth }),
    ],
  });
  const totalOf = async (name: string) => {
    const { body } = await started.get(`/${name}?limit=1&totalCount=estimated`);
    const { totalCount, totalCountEstimated = false } = JSON.parse(body);
    return { totalCount, totalCountEstimated };
  };
  assertEquals(await totalOf("shown"), { totalCount: 3_001, totalCountEstimated: false });
  assertEquals((await totalOf("every")).totalCountEstimated, true);
  assertStringIncludes(
    started.notices.join("\n"),
    `The row level security of "docs" does not apply to the role "${world.role}" in "every", ` +
      "because a view has the rights of its owner, unless it is security_invoker",
  );
});

testWithRole("the command line names no view in its line of streams", async (world) => {
  await world.run(`${forced} CREATE VIEW shown WITH (security_invoker) AS SELECT * FROM docs;
    CREATE VIEW every AS SELECT * FROM docs; CREATE VIEW titles AS SELECT * FROM docs;
    GRANT SELECT ON shown, every, titles TO ROLE_`);
  await using started = await startCommand(world);
  const { streams = "" } = started;
  assertStringIncludes(streams, "Live streams: not of docs, because row level security applies");
  assertEquals((await started.get("/shown?totalCount=true")).body.includes('"totalCount":1'), true);
});

testWithRole(
  "the command line reads the schema again when policies begin to apply",
  async (world) => {
    await world.run(`${tables} ${secured} ${owned}
    CREATE VIEW shown WITH (security_invoker) AS SELECT * FROM docs; GRANT SELECT ON shown TO ROLE_`);
    await using started = await startCommand(world);
    const before = await started.describe?.();
    await world.run("ALTER TABLE docs FORCE ROW LEVEL SECURITY");
    const after = await started.describe?.();
    assert(before !== undefined && after !== undefined);
    assertEquals(tableChanges(before, after).changed, ["docs", "shown"]);
  },
);
