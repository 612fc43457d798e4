import { assertEquals } from "@std/assert";
import { all, integer, Problem, resource, table, text, timestamp } from "../../mod.ts";
import { insertRows, testOnEngines, withService } from "../support/http.ts";

const notes = table("notes", {
  id: integer().primaryKey(),
  title: text(),
  gone: timestamp(),
});
const open = { public: true, update: () => all(), delete: () => all() } as const;
const ada = { "x-user": "ada" };
const path = "/api/notes/1/restore";

testOnEngines("restoring a row evaded the before-hook of its resource", async (engine) => {
  const seen: unknown[] = [];
  let isVetoed = true;
  const resources = [resource(notes, {
    id: notes.id,
    auth: open,
    softDelete: { field: notes.gone },
    hooks: {
      onBeforeUpdate: (_context, id, patch) => {
        seen.push([id, { ...patch }]);
        if (isVetoed) throw new Problem("forbidden", "Nothing comes back");
        return { ...patch, title: "restored", gone: new Date().toISOString() };
      },
      onAfterUpdate: (_context, { title }) => void seen.push(title),
    },
  })];
  await withService(engine, [notes], () => ({ resources }), async ({ db, send }) => {
    await insertRows(db, notes, [{ id: 1, title: "a" }]);
    const restore = async () => (await send("POST", path, undefined, ada)).status;
    assertEquals([await restore(), seen], [409, []], "a hook is spared a restore that must fail");
    assertEquals((await send("DELETE", "/api/notes/1", undefined, ada)).status, 204);
    assertEquals(await restore(), 403);
    isVetoed = false;
    const { status, body } = await send("POST", path, undefined, ada);
    assertEquals([status, body], [200, { id: 1, title: "restored", gone: null }]);
    const call = [1, { gone: null }];
    assertEquals(seen, [call, call, "restored"]);
  });
});

testOnEngines("a page of another origin restored rows with the user's cookie", async (engine) => {
  const resources = [
    resource(notes, { id: notes.id, auth: open, softDelete: { field: notes.gone } }),
  ];
  const form = "application/x-www-form-urlencoded";
  const foreign: readonly Record<string, string>[] = [
    { "content-type": form },
    { "content-type": "text/plain", "sec-fetch-site": "same-origin" },
    { "sec-fetch-site": "cross-site" },
    { "sec-fetch-site": "same-site" },
    { host: "api.example", origin: "https://evil.example" },
    { host: "api.example", origin: "null" },
  ];
  const own: readonly Record<string, string>[] = [
    {},
    { "content-type": "application/json", "sec-fetch-site": "cross-site" },
    { "sec-fetch-site": "same-origin", host: "inner", origin: "https://api.example" },
    { "sec-fetch-site": "none" },
    { host: "api.example", origin: "http://api.example" },
  ];
  await withService(engine, [notes], () => ({ resources }), async ({ db, send }) => {
    await insertRows(db, notes, [{ id: 1, title: "a" }]);
    const restore = async (headers: Record<string, string>) => {
      await send("DELETE", "/api/notes/1", undefined, ada);
      const body = headers["content-type"] === undefined ? undefined : "";
      const answer = await send("POST", path, body, { ...ada, ...headers });
      return [answer.status, answer.body.code ?? null];
    };
    for (const headers of foreign) {
      assertEquals(await restore(headers), [415, "UNSUPPORTED_MEDIA_TYPE"], Deno.inspect(headers));
    }
    for (const headers of own) {
      assertEquals(await restore(headers), [200, null], Deno.inspect(headers));
    }
  });
});
