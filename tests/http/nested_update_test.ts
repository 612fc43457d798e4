import { assertEquals } from "@std/assert";
import { all, integer, resource, rsql, table } from "../../mod.ts";
import {
  type Answer,
  insertRows,
  type Service,
  testOnEngines,
  withService,
} from "../support/http.ts";
import { ada, bob, noteLabels, related, shares, withDesk } from "./nested_update_support.ts";

const note = "/api/notes/101";

/** The status, and the faults of a refusal with their paths. */
function outcome({ status, body }: Answer): string {
  if (status < 300) return String(status);
  const errors = body.details?.errors ?? [{ path: body.details?.path ?? "", message: body.detail }];
  return [
    status,
    ...errors.map(({ path, message }: Record<string, string>) => `${path}: ${message}`),
  ].join(" ");
}

/** Sends bodies one after the other; each gives its outcome, and the changes of what is related. */
async function changes(
  { db, send }: Pick<Service, "db" | "send">,
  bodies: readonly (readonly [body: unknown, outcome: string, changed?: object])[],
  method = "PATCH",
): Promise<void> {
  let before = await related(db);
  for (const [body, expected, changed = {}] of bodies) {
    const answer = await send(method, note, body, ada);
    const after = await related(db);
    const differing = Object.keys(after).filter((name) => after[name] !== before[name]);
    assertEquals(
      [outcome(answer), Object.fromEntries(differing.map((name) => [name, after[name]]))],
      [expected, changed],
      JSON.stringify(body),
    );
    before = after;
  }
}

testOnEngines(
  "a PATCH connects, disconnects, sets and creates, and answers what is related then",
  (engine) =>
    withDesk(engine, {}, async ({ db, get, send }) => {
      await insertRows(db, noteLabels, [101, 103].map((labelId) => ({ noteId: 101, labelId })));
      const { status, body } = await send("PATCH", note, {
        title: "x",
        labels: {
          ...{ connect: [101, 102], disconnect: [103], set: [101, 104] },
          create: [{ name: "new" }],
        },
      }, ada);
      assertEquals(status, 200, JSON.stringify(body));
      const named = body.labels.map(({ name }: { readonly name: string }) => name);
      assertEquals([body.title, named.sort()], ["x", ["l101", "l102", "l104", "new"]]);
      assertEquals(body, (await get(`${note}?include=labels`, ada)).body);
      const put = await send("PUT", note, {
        ...{ title: "put", ownerId: "ada", author: { create: { name: "n" } } },
        ...{ editor: { connect: 101 }, labels: { set: [102] } },
      }, ada);
      assertEquals(put.status, 200, JSON.stringify(put.body));
      assertEquals([put.body.title, put.body.author.name, put.body.editor, put.body.labels], [
        ...["put", "n", { id: 101, name: "a" }],
        [{ id: 102, name: "l102", ownerId: "all" }],
      ]);
      assertEquals(put.body.authorId, put.body.author.id);
    }),
);

testOnEngines(
  "each kind of relation changes as it is asked to, and what is so already stays",
  (engine) =>
    withDesk(engine, {}, async (service) => {
      const other = { noteId: 102, labelId: 101 };
      await insertRows(service.db, noteLabels, [other, { noteId: 101, labelId: 105 }]);
      await insertRows(service.db, shares, [
        { id: 901, noteId: 101, personId: 102, givenBy: "bob" },
      ]);
      await changes(service, [
        [{ labels: { connect: [101, 102] } }, "200", {
          ...{ note: "101:103:2", labels: "101 102 105" },
        }],
        [{ labels: { connect: [{ id: 102 }] } }, "200", { note: "101:103:3" }],
        // Label 105 is bob's: no other user sees that it is linked, or unlinks it.
        [{ labels: { disconnect: [102, 105, 999] } }, "200", {
          ...{ note: "101:103:4", labels: "101 105" },
        }],
        [{ labels: { set: [] } }, "200", { note: "101:103:5", labels: "105" }],
        [{ labels: {} }, "200", { note: "101:103:6" }],
        [{ author: { connect: 103 } }, "200", { note: "103:103:7" }],
        [{ author: { disconnect: true } }, "200", { note: "-:103:8" }],
        [{ author: { connect: { id: 101 } }, editor: { connect: 101 } }, "200", {
          note: "101:101:9",
        }],
        [{ tasks: { connect: [102, 101] } }, "200", {
          ...{ note: "101:101:10", tasks: "101:1 102:2 103:1 104:1", free: "105:1 106:1" },
        }],
        [{ tasks: { disconnect: [101, 103, 106] } }, "200", {
          ...{ note: "101:101:11", tasks: "102:2 103:1 104:1", free: "101:2 105:1 106:1" },
        }],
        // Task 103 is bob's, and task 104 may be read by all and changed by none.
        [{ tasks: { set: [101, 104] } }, "200", {
          ...{ note: "101:101:12", tasks: "101:3 103:1 104:1", free: "102:3 105:1 106:1" },
        }],
        [{ cover: { create: { id: 1, url: "u" } } }, "200", {
          ...{ note: "101:101:13", covers: "1:101" },
        }],
        [{ cover: { disconnect: true, create: { id: 2, url: "v" } } }, "200", {
          ...{ note: "101:101:14", covers: "1:- 2:101" },
        }],
        [{ cover: { connect: 1 } }, "200", { note: "101:101:15", covers: "1:101 2:-" }],
        [{ cover: { disconnect: true } }, "200", { note: "101:101:16", covers: "1:- 2:-" }],
        [{ steps: { create: [{ id: 7 }, { id: 8 }] } }, "200", {
          ...{ note: "101:101:17", steps: "7 8" },
        }],
        [{ steps: { set: [8, 7] } }, "200", { note: "101:101:18" }],
        // Person 102 is bob's.
        [{ sharedWith: { connect: [101, 103] } }, "200", {
          ...{ note: "101:101:19", shares: "101:ada 102:bob 103:ada" },
        }],
        [{ sharedWith: { set: [103] } }, "200", {
          ...{ note: "101:101:20", shares: "102:bob 103:ada" },
        }],
        [{ sharedWith: { disconnect: [103, 102] } }, "200", {
          ...{ note: "101:101:21", shares: "102:bob" },
        }],
      ]);
      assertEquals((await service.send("GET", "/api/notes/102", undefined, bob)).body.version, 1);
    }),
);

const none = "names no row";
const outside = "Cannot update: the row lies outside your scope";
const every = "connect, disconnect, set and create";

testOnEngines(
  "what cannot be related is refused with its path, and nothing is changed",
  (engine) =>
    withDesk(engine, { notes: { strictInput: true } }, async (service) => {
      await insertRows(service.db, shares, [
        { id: 901, noteId: 101, personId: 103, givenBy: "bob" },
      ]);
      await changes(service, [
        [{ labels: { connect: [101, 105] } }, `422 labels.connect.1: ${none}`],
        [{ labels: { connect: [101, 999] } }, `422 labels.connect.1: ${none}`],
        [{ author: { connect: 102 } }, `422 author.connect: ${none}`],
        [{ tasks: { connect: [106] } }, `422 tasks.connect.0: ${none}`],
        [{ tasks: { set: [999] } }, `422 tasks.set.0: ${none}`],
        [{ tasks: { connect: [105] } }, `403 tasks.connect.0: ${outside}`],
        [{ tasks: { disconnect: [104] } }, `403 tasks.disconnect.0: ${outside}`],
        [{ tasks: { set: [] } }, `403 tasks.set: ${outside}`],
        [
          { sharedWith: { set: [] } },
          "403 sharedWith.set: Cannot delete: the row lies outside your scope",
        ],
        [
          { sharedWith: { disconnect: [103] } },
          "403 sharedWith.disconnect.0: Cannot delete: the row lies outside your scope",
        ],
        [
          { editor: { disconnect: true } },
          "422 editor.disconnect: cannot be removed: the row must have one",
        ],
        [
          { steps: { disconnect: [1] } },
          "422 steps.disconnect.0: cannot be disconnected: its foreign key is never NULL. Delete it, or connect it elsewhere",
        ],
        [
          { author: { connect: 103 }, authorId: 103 },
          "422 authorId: follows from author: leave it out",
        ],
        [
          { labels: { connect: [101], disconnect: [101] } },
          "422 labels.disconnect.0: names the same row as labels.connect.0",
        ],
        [
          { labels: { connect: [101, 101] } },
          "422 labels.connect.1: names the same row as labels.connect.0",
        ],
        [
          { labels: { conect: [101] } },
          `422 labels.conect: is none of ${every}. Did you mean "connect"?`,
        ],
        [
          { author: { set: [101] } },
          "422 author.set: is none of connect, disconnect and create",
        ],
        [{ author: {} }, "422 author: must hold one of connect, disconnect and create"],
        [
          { author: { connect: 101, create: {} } },
          "422 author: must hold one of connect, disconnect and create",
        ],
        [{ author: { disconnect: false } }, "422 author.disconnect: must be true"],
        [{ labels: [101] }, `422 labels: must be an object with ${every}`],
        [{ labels: null }, `422 labels: must be an object with ${every}`],
        [{ labels: { connect: 101 } }, "422 labels.connect: must be a list"],
        [{ labels: { connect: ["x"] } }, "422 labels.connect.0: must be a whole number"],
        [{ labels: { connect: [null] } }, "422 labels.connect.0: must not be null"],
        [
          { labels: { connect: [{ id: 101, name: "n" }] } },
          "422 labels.connect.0: must be the id of a row",
        ],
        [{ labels: { create: [101] } }, "422 labels.create.0: must be an object"],
        [{ labels: { create: [{}] } }, "422 labels.create.0.name: is required"],
        [
          { labels: { create: [{ name: "l101" }] } },
          "409 labels.create.0.name: is taken by another row",
        ],
        [
          { tasks: { create: [{ title: "t", noteId: 1 }] } },
          "422 tasks.create.0.noteId: follows from the row around: leave it out",
        ],
        [{ labls: { connect: [1] } }, '422 labls: is not a field. Did you mean "labels"?'],
        [
          { labels: { connect: Array.from({ length: 101 }, (_, n) => n) } },
          "400 : Cannot write this batch: labels.connect holds more rows than the 100 that are allowed",
        ],
      ]);
      const [hidden, missing] = [
        await service.send("PATCH", "/api/notes/102", {
          labels: { connect: [101] },
        }, ada),
        await service.send("PATCH", "/api/notes/999", { labels: { set: [] } }, ada),
      ];
      assertEquals([hidden.status, missing.status], [404, 404]);
      const shared = await service.send("PATCH", "/api/notes/103", { labels: { set: [] } }, ada);
      assertEquals([shared.status, shared.body.detail], [403, outside]);
    }),
);

testOnEngines(
  "a POST connects rows that exist, and a batch names each child once",
  (engine) =>
    withDesk(engine, {}, async ({ db, send }) => {
      const post = (body: unknown, path = "/api/notes") => send("POST", path, body, ada);
      const fresh = { title: "n", editor: { connect: 103 } };
      const { status, body } = await post({
        ...{ ...fresh, id: 900, author: { connect: { id: 101 } } },
        labels: { connect: [101], create: [{ name: "new" }] },
        tasks: { connect: [102, 101], create: [{ title: "t" }] },
        sharedWith: { connect: [103] },
        cover: { create: { id: 5, url: "u" } },
      });
      assertEquals(status, 201, JSON.stringify(body));
      const names = (rows: readonly Record<string, unknown>[]) =>
        rows.map((row) => row.name ?? row.title);
      assertEquals([body.authorId, names(body.labels), names(body.tasks), names(body.sharedWith)], [
        ...[101, ["l101", "new"], ["t102", "t101", "t"], ["c"]],
      ]);
      assertEquals([body.tasks[0].noteId, body.tasks[0].version, body.cover.id], [900, 2, 5]);
      const twice = [
        { ...fresh, tasks: { connect: [102] } },
        { ...fresh, tasks: { connect: [101, 102] } },
      ];
      const refusals: readonly (readonly [unknown, string, string?])[] = [
        [
          { items: twice },
          "422 items.1.tasks.connect.1: names the same row as items.0.tasks.connect.0",
          "/batch",
        ],
        [{ ...fresh, tasks: { connect: [103] } }, `422 tasks.connect.0: ${none}`],
        [{ ...fresh, tasks: { connect: [105] } }, `403 tasks.connect.0: ${outside}`],
        [{ ...fresh, tasks: { set: [101] } }, "422 tasks.set: is none of connect and create"],
        [{ title: "n", editor: { connect: 102 } }, `422 editor.connect: ${none}`],
        [
          { title: "n", editor: { connect: 103, create: { name: "n" } } },
          "422 editor: must hold one of connect and create",
        ],
        [{ title: "n", editor: {} }, "422 editor.name: is required"],
      ];
      for (const [body, expected, path = ""] of refusals) {
        assertEquals(
          outcome(await post(body, `/api/notes${path}`)),
          expected,
          JSON.stringify(body),
        );
      }
      const batch = await post({
        items: [101, 102].map((task) => ({ ...fresh, tasks: { connect: [task] } })),
      }, "/api/notes/batch");
      assertEquals(
        batch.body.items.map(({ tasks: [task], id }: WithTasks) => [task?.id, task?.noteId === id]),
        [[101, true], [102, true]],
      );
      assertEquals((await related(db)).tasks, "103:1 104:1");
    }),
);

interface WithTasks {
  readonly id: number;
  readonly tasks: readonly { readonly id: number; readonly noteId: number }[];
}

const nodes = table("nodes", {
  id: integer().primaryKey(),
  parentId: integer().as("parent_id"),
  teamId: integer().as("team_id"),
});
const members = table("members", {
  nodeId: integer().primaryKey().as("node_id"),
  person: integer().primaryKey(),
});

testOnEngines(
  "rows are related to themselves, and no user leaves the scope by cutting a link",
  (engine) =>
    withService(engine, [nodes, members], () => ({
      resources: [
        resource(nodes, {
          id: nodes.id,
          auth: {
            public: true,
            create: () => all(),
            update: (user) => user.id === "ada" ? all() : rsql`friends.id==${Number(user.id)}`,
          },
          nestedWrites: true,
          relations: {
            parent: { type: "belongsTo", resource: nodes, foreignKey: nodes.parentId },
            children: { type: "hasMany", resource: nodes, foreignKey: nodes.parentId },
            friends: {
              ...{ type: "manyToMany", resource: nodes, through: members },
              ...{ foreignKey: members.nodeId, references: members.person },
            },
          },
        }),
      ],
    }), async ({ db, send }) => {
      await insertRows(
        db,
        nodes,
        [101, 102, 103].map((id) => ({ id, parentId: null, teamId: null })),
      );
      const patch = (id: number, body: unknown, user = "ada") =>
        send("PATCH", `/api/nodes/${id}`, body, { "x-user": user });
      const own = await patch(101, { children: { connect: [101, 102] } });
      assertEquals([own.status, own.body.parentId, own.body.children.length], [200, 101, 2]);
      const tree = await patch(103, {
        parent: { create: { id: 200, parent: { connect: 102 } } },
        children: {
          set: [102],
          create: [{ id: 201, friends: { connect: [103], create: [{ id: 202 }] } }],
        },
      });
      assertEquals(tree.status, 200, JSON.stringify(tree.body));
      assertEquals([tree.body.parentId, tree.body.children.map(({ id }: { id: number }) => id)], [
        200,
        [102, 201],
      ]);
      const [, made] = tree.body.children;
      assertEquals(made.friends.map(({ id }: { id: number }) => id), [103, 202]);
      assertEquals((await patch(102, { friends: { connect: [103, 101] } })).status, 200);
      assertEquals((await patch(102, { friends: { disconnect: [101] } }, "103")).status, 200);
      const left = await patch(102, { friends: { set: [] } }, "103");
      assertEquals([left.status, left.body.detail], [
        403,
        "Cannot update: the row would lie outside your scope",
      ]);
    }),
);
