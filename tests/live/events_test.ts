import { assertEquals } from "@std/assert";
import { all, lt } from "../../src/filter/builders.ts";
import { Problem } from "../../src/problem/problem.ts";
import { insertRows, testOnEngines, testOnEveryEngine } from "../support/http.ts";
import { ada, notes, sent, toldSoFar, withNotes } from "./notes.ts";

testOnEveryEngine(
  "each write of the API becomes the event that the specification says",
  (engine) =>
    withNotes(engine, {}, async (service) => {
      const { send, subscribe } = service;
      const stream = await subscribe("/api/notes/subscribe");
      await stream.untilSynced();
      const write = async (method: string, path: string, body?: unknown) => {
        const { status } = await send(method, `/api/notes${path}`, body, ada);
        return [status, ...await toldSoFar(stream, service)];
      };
      assertEquals(await write("POST", "", { id: 1, title: "a" }), [201, "added 1 a"]);
      assertEquals(await write("PATCH", "/1", { title: "b" }), [200, "changed 1 b"]);
      assertEquals(await write("PUT", "/1", { title: "c" }), [200, "changed 1 c"]);
      assertEquals(
        await write("POST", "/batch", { items: [{ id: 2, title: "d" }, { id: 3, title: "e" }] }),
        [201, "added 2 d", "added 3 e"],
      );
      const patched = await write("PATCH", "/batch", { filter: "id>1", patch: { title: "f" } });
      assertEquals(patched.toSorted(), [200, "changed 2 f", "changed 3 f"]);
      assertEquals(
        await write("POST", "/batch/upsert", {
          items: [{ id: 3, title: "g" }, { id: 4, title: "h" }],
        }).then((lines) => lines.toSorted()),
        [200, "added 4 h", "changed 3 g"],
      );
      assertEquals(
        await write("PUT", "/batch", { items: [{ id: 4, title: "i" }] }),
        [200, "changed 4 i"],
      );
      const gone = await write("DELETE", "/batch", { filter: "id>2" });
      assertEquals(gone.toSorted(), [200, "removed 3", "removed 4"]);
      assertEquals(await write("DELETE", "/1"), [204, "removed 1"]);
      assertEquals(await write("DELETE", "/1"), [404]);
      assertEquals(await write("PATCH", "/2", { title: null }), [422]);
      await stream.close();
    }),
);

testOnEveryEngine("a write that is rolled back becomes no event", (engine) => {
  const onAfterUpdate = () => {
    throw new Problem("forbidden", "Cannot update: this hook never lets it");
  };
  return withNotes(engine, { hooks: { onAfterUpdate } }, async (service) => {
    const { send, subscribe } = service;
    const stream = await subscribe("/api/notes/subscribe");
    await stream.untilSynced();
    await send("POST", "/api/notes", { id: 1, title: "a" }, ada);
    assertEquals((await send("PATCH", "/api/notes/1", { title: "b" }, ada)).status, 403);
    const items = [{ id: 2, title: "c" }, { id: 1, title: "taken" }];
    assertEquals((await send("POST", "/api/notes/batch", { items }, ada)).status, 409);
    assertEquals(await toldSoFar(stream, service), ["added 1 a"]);
    await stream.close();
  });
});

testOnEngines(
  "a row enters a filter, stays in it and leaves it",
  (engine) =>
    withNotes(engine, {}, async (service) => {
      const { db, send, subscribe } = service;
      await insertRows(db, notes, [{ id: 1, title: "a", rank: 1, version: 1 }]);
      const stream = await subscribe("/api/notes/subscribe?filter=rank%3E10");
      assertEquals((await stream.untilSynced()).map(sent), ["existing "]);
      const patch = async (rank: number | null) => {
        await send("PATCH", "/api/notes/1", { rank }, ada);
        return await toldSoFar(stream, service);
      };
      assertEquals(await patch(10), []);
      assertEquals(await patch(11), ["added 1 a"]);
      assertEquals(await patch(12), ["changed 1 a"]);
      assertEquals(await patch(null), ["removed 1"]);
      assertEquals(await patch(2), []);
      assertEquals(await patch(13), ["added 1 a"]);
      await send("DELETE", "/api/notes/1", undefined, ada);
      assertEquals(await toldSoFar(stream, service), ["removed 1"]);
      await stream.close();
    }),
);

testOnEngines(
  "an equality is left by what the row was, and entered by what it is",
  (engine) =>
    withNotes(engine, {}, async (service) => {
      const { db, send, subscribe } = service;
      await insertRows(db, notes, [{ id: 1, title: "a", rank: 1, version: 1 }]);
      const filters = ["ownerId==bob", "ownerId=in=(ada,bob)", "ownerId==bob,rank==999999"];
      for (const filter of filters) {
        const stream = await subscribe(`/api/notes/subscribe?filter=${encodeURIComponent(filter)}`);
        await stream.untilSynced();
        const resumeToken = { id: 999_999, title: "mark", ownerId: "bob", rank: 999_999 };
        const lines: string[] = [];
        for (const ownerId of ["bob", "bob", "eve", null, "bob", null]) {
          await send("PATCH", "/api/notes/1", { ownerId }, ada);
          lines.push(...await toldSoFar(stream, service, resumeToken));
        }
        assertEquals(lines, ["added 1 a", "changed 1 a", "removed 1", "added 1 a", "removed 1"]);
        await stream.close();
      }
    }),
);

testOnEngines(
  "marking a row deleted removes it, restoring adds it, and later changes are no events",
  (engine) =>
    withNotes(engine, { softDelete: { field: notes.deletedAt } }, async (service) => {
      const { db, send, subscribe } = service;
      await insertRows(db, notes, [{ id: 1, title: "a", version: 1 }, {
        id: 2,
        title: "gone",
        version: 1,
        deletedAt: "then",
      }]);
      const stream = await subscribe("/api/notes/subscribe");
      assertEquals((await stream.untilSynced()).map(sent), ["existing 1"]);
      await send("DELETE", "/api/notes/1", undefined, ada);
      assertEquals(await toldSoFar(stream, service), ["removed 1"]);
      await send("POST", "/api/notes/1/restore", undefined, ada);
      assertEquals(await toldSoFar(stream, service, { ...resumeToken, id: 999_998 }), [
        "added 1 a",
      ]);
      await db.driver.query({ text: "DELETE FROM notes WHERE id = 2", values: [] });
      assertEquals(await toldSoFar(stream, service, { ...resumeToken, id: 999_997 }), []);
      await stream.close();
    }),
);

const resumeToken = { id: 999_999, title: "mark", ownerId: "ada", rank: 999_999 };

testOnEngines(
  "writes of other programs become events as well, a new key as another row",
  (engine) =>
    withNotes(engine, {}, async (service) => {
      const { db, subscribe } = service;
      await insertRows(db, notes, [1, 2, 3].map((id) => ({ id, title: "a", version: 1 })));
      const stream = await subscribe("/api/notes/subscribe");
      await stream.untilSynced();
      await db.driver.query({ text: "UPDATE notes SET title = 'b' WHERE id > 1", values: [] });
      assertEquals((await toldSoFar(stream, service)).toSorted(), ["changed 2 b", "changed 3 b"]);
      await db.driver.query({ text: "UPDATE notes SET id = 7 WHERE id = 3", values: [] });
      assertEquals(await toldSoFar(stream, service), ["removed 3", "added 7 b"]);
      await db.driver.query({ text: "DELETE FROM notes", values: [] });
      assertEquals(
        (await toldSoFar(stream, service)).toSorted(),
        ["removed 1", "removed 2", "removed 7"],
      );
      await stream.close();
    }),
);

testOnEngines(
  "the rows of one batch stand together, whatever others write at the same time",
  (engine) =>
    withNotes(engine, { batch: { create: 50 } }, async (service) => {
      const { send, subscribe } = service;
      const stream = await subscribe("/api/notes/subscribe");
      await stream.untilSynced();
      const batches = [1, 2, 3, 4].map((batch) =>
        Array.from({ length: 20 }, (_, index) => ({ id: batch * 100 + index, title: `b${batch}` }))
      );
      await Promise.all(
        batches.map((items) => send("POST", "/api/notes/batch", { items }, ada)),
      );
      const titles = (await toldSoFar(stream, service)).map((line) => line.split(" ")[2]);
      assertEquals(titles.length, 80);
      const turns = titles.filter((title, index) => title !== titles[index - 1]);
      assertEquals(turns.toSorted(), ["b1", "b2", "b3", "b4"]);
      await stream.close();
    }),
);

testOnEngines(
  "seq grows with every change of a row",
  (engine) =>
    withNotes(engine, {}, async ({ send, subscribe }) => {
      const stream = await subscribe("/api/notes/subscribe");
      await stream.untilSynced();
      await send("POST", "/api/notes", { id: 1, title: "a" }, ada);
      for (let rank = 0; rank < 5; rank++) await send("PATCH", "/api/notes/1", { rank }, ada);
      await send("DELETE", "/api/notes/1", undefined, ada);
      const seqs = (await stream.take(7)).map(({ data }) => data.seq);
      assertEquals(seqs, seqs.toSorted((left, right) => left - right));
      assertEquals(new Set(seqs).size, 7);
      await stream.close();
    }),
);

testOnEngines(
  "a stream shows the rows of its scope, whatever its filter says",
  (engine) =>
    withNotes(engine, {
      auth: {
        subscribe: () => lt(notes.rank, 5),
        create: () => all(),
        update: () => all(),
        delete: () => all(),
      },
    }, async (service) => {
      const { db, send, subscribe } = service;
      await insertRows(db, notes, [
        { id: 1, title: "a", rank: 1, version: 1 },
        { id: 2, title: "b", rank: 9, version: 1 },
      ]);
      const stream = await subscribe("/api/notes/subscribe?filter=id%3C100", ada);
      assertEquals((await stream.untilSynced()).map(sent), ["existing 1"]);
      await send("PATCH", "/api/notes/2", { rank: 2 }, ada);
      await send("PATCH", "/api/notes/1", { rank: 7 }, ada);
      await send("PATCH", "/api/notes/1", { title: "unseen" }, ada);
      await send("POST", "/api/notes", { id: 3, title: "unseen", rank: 8 }, ada);
      await send("POST", "/api/notes", { id: 4, title: "seen", rank: 0 }, ada);
      assertEquals((await stream.take(3)).map(sent), ["added 2 b", "removed 1", "added 4 seen"]);
      assertEquals(stream.text.includes("unseen"), false);
      await stream.close();
    }),
);
