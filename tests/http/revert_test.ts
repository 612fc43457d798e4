import { assertEquals } from "@std/assert";
import {
  all,
  eq,
  integer,
  json,
  resource,
  table,
  text,
  timestamp,
  updatedAt,
  type User,
} from "../../mod.ts";
import { insertRows, testOnEngines, withService } from "../support/http.ts";

const notes = table("notes", {
  id: integer().primaryKey(),
  ownerId: text().notNull().as("owner_id"),
  title: text({ maxLength: 5 }),
  state: text().notNull().default("open"),
  hidden: text(),
  document: json(),
  gone: timestamp(),
  version: integer().notNull().default(1),
  changed: updatedAt(),
});
const own = (user: User) => eq(notes.ownerId, user.id);
const anyone = { read: () => all(), create: () => all(), update: () => all(), delete: () => all() };
const ada = { "x-user": "ada" };
const bob = { "x-user": "bob" };
const path = "/api/notes/1";

testOnEngines("a revert is a conditional PATCH with the fields of a version", async (engine) => {
  const patches: unknown[] = [];
  const resources = [resource(notes, {
    id: notes.id,
    auth: { ...anyone, update: own },
    etag: { versionField: notes.version },
    hooks: { onBeforeUpdate: (_context, _id, patch) => (patches.push(Object.keys(patch)), patch) },
    history: {},
  })];
  await withService(engine, [notes], () => ({ resources }), async ({ send, get }) => {
    const first = { id: 1, ownerId: "ada", title: "a", document: { a: [1, "x"] } };
    await send("POST", "/api/notes", first, ada);
    await send("PATCH", path, { title: "b", document: null, state: "done" }, ada);
    const { body: { items } } = await get(`${path}/history`, bob);
    const [now, before] = items;
    const revert = async (version: unknown, headers: Record<string, string>) =>
      await send("POST", `${path}/revert`, { version }, headers);
    const status = async (version: unknown, headers: Record<string, string>) =>
      (await revert(version, headers)).status;
    assertEquals(await status(before.version, {}), 401);
    assertEquals(await status(before.version, bob), 403);
    assertEquals(await status(before.version, { ...ada, "if-match": 'W/"1"' }), 412);
    assertEquals(await status("AAAA", ada), 422);
    assertEquals(await status(7, ada), 422);
    patches.length = 0;
    const { body } = await revert(before.version, { ...ada, "if-match": 'W/"2"' });
    const { changed, ...row } = body;
    const { changed: _before, version: _number, ...wanted } = before.row;
    assertEquals(row, { ...wanted, version: 3 });
    assertEquals(typeof changed, "string");
    assertEquals(patches, [["ownerId", "title", "state", "hidden", "document", "gone"]]);
    assertEquals(await status(now.version, { ...ada, "if-match": 'W/"3"' }), 200);
    const after = await get(`${path}/history`, bob);
    // deno-lint-ignore no-explicit-any -- a test says what it expects by asserting it
    assertEquals(after.body.items.map((one: any) => [one.operation, one.row.title]), [
      ["revert", "b"],
      ["revert", "a"],
      ["update", "b"],
      ["create", "a"],
    ]);
  });
});

testOnEngines("a revert refuses fields that differ and may not be written", async (engine) => {
  const resources = [
    resource(notes, {
      id: notes.id,
      auth: { ...anyone, create: undefined },
      fields: {
        readable: [notes.id, notes.title, notes.state, notes.gone],
        writable: [notes.title, notes.hidden],
      },
      softDelete: { field: notes.gone },
      history: {},
    }),
  ];
  await withService(engine, [notes], () => ({ resources }), async ({ db, send, get }) => {
    await insertRows(db, notes, [{ id: 1, ownerId: "ada", title: "a", hidden: "h" }]);
    const set = async (values: string) =>
      await db.query({ text: `UPDATE notes SET ${values}`, values: [] });
    await set("title = 'b', hidden = 'i'");
    await set("title = 'c', state = 'done'");
    await set("title = 'too long'");
    const { body: { items: [now, , b, a] } } = await get(`${path}/history`, ada);
    const revert = async ({ version }: { version: string }) =>
      await send("POST", `${path}/revert`, { version }, ada);
    const refused = await revert(a);
    assertEquals([refused.status, refused.body.details], [422, {
      errors: [{ path: "state", message: "differs in this version, and you may not change it" }],
    }]);
    await set("state = 'open'");
    const { status, body } = await revert(b);
    assertEquals([status, body.title], [200, "b"]);
    assertEquals((await revert(a)).status, 200);
    // The hidden field keeps its value: a revert writes only what the version shows.
    const { rows } = await db.query({ text: "SELECT title, hidden FROM notes", values: [] });
    assertEquals(rows, [["a", "i"]]);
    // The values are checked as those of a PATCH.
    await set("state = 'done'");
    assertEquals((await revert(now)).body.details, {
      errors: [{ path: "title", message: "must have at most 5 characters" }],
    });
    assertEquals((await send("DELETE", path, undefined, ada)).status, 204);
    assertEquals([(await revert(b)).status, (await get(`${path}/history`, ada)).status], [
      404,
      404,
    ]);
    assertEquals((await send("POST", `${path}/restore`, undefined, ada)).status, 200);
    assertEquals((await get(`${path}/history`, ada)).status, 200);
  });
});
