import { assert, assertEquals, assertMatch } from "@std/assert";
import { all, eq, integer, resource, table, text } from "../../mod.ts";
import { apiKeyAuth, ApiKeys } from "../../exports/auth.ts";
import { createMemoryKeyValue } from "../../src/kv/memory_key_value.ts";
import { systemRuntime } from "../../src/runtime/system_runtime.ts";
import { handClock } from "../db/hand_clock.ts";
import { insertRows, testOnDialects, testOnEngines, withService } from "../support/http.ts";
import { parseCsv } from "./export_support.ts";

const notes = table("notes", {
  id: integer().primaryKey(),
  title: text(),
  ownerId: text(),
});

const rows = [
  { id: 1, title: "a;b", ownerId: "ada" },
  { id: 2, title: "=1+1", ownerId: "bob" },
  { id: 3, title: "NULL", ownerId: "ada" },
  { id: 4, title: 'q"; ,', ownerId: null },
];

const capabilities = { enableExport: true, enableImport: true };

testOnEngines(
  "an export by the parameter format has a mark and a delimiter, and is imported again",
  (engine) =>
    withService(engine, [notes], () => ({
      resources: [
        resource(notes, {
          id: notes.id,
          auth: { public: { read: true }, create: () => all() },
          capabilities,
        }),
        resource(notes, {
          id: notes.id,
          path: "plain",
          auth: { public: { read: true } },
        }),
      ],
    }), async ({ app, db, get, send }) => {
      await insertRows(db, notes, rows);
      const accepted = await get("/api/notes", { accept: "text/csv" });
      const named = await get("/api/notes?format=csv", { accept: "text/html" });
      assertEquals(named.body, accepted.body);
      assertEquals(named.headers.get("content-disposition"), 'attachment; filename="notes.csv"');
      assert(named.body.includes('3,"NULL",ada\r\n'), "NULL in quotes is a string again");
      const lines = await get("/api/notes?format=ndjson&limit=1");
      assertEquals(JSON.parse(lines.body), rows[0]);
      const page = await get("/api/notes?format=json", { accept: "text/csv" });
      assertEquals(page.body.items.length, 4);

      const sheet = await app.fetch(
        new Request("http://test/api/notes?format=csv&delimiter=%3B&bom=true"),
      );
      const text = new TextDecoder("utf-8", { ignoreBOM: true }).decode(await sheet.bytes());
      assert(text.startsWith('\ufeffid;title;ownerId\r\n1;"a;b";ada\r\n2;\'=1+1;bob\r\n'), text);
      for (const delimiter of [",", ";", "|", ":", "tab"]) {
        const query = `delimiter=${encodeURIComponent(delimiter)}`;
        const exported = await get(`/api/notes?format=csv&${query}`);
        const plain = exported.body.replaceAll(delimiter === "tab" ? "\t" : delimiter, ",");
        assertEquals(parseCsv(plain).length, 5);
        await db.query({ text: "DELETE FROM notes", values: [] });
        const headers = { "x-user": "ada", "content-type": "text/csv" };
        const again = await send("POST", `/api/notes/import?${query}`, exported.body, headers);
        assertEquals(again.body, { rows: 4, written: 4 });
        assertEquals((await get("/api/notes?orderBy=id")).body.items, rows, delimiter);
      }

      const { paths } = Object(app.openapi());
      const { description } = paths["/api/notes"].get.parameters.find((
        { name }: { name: string },
      ) => name === "link");
      assertMatch(description, /^Returns `{ link, expiresAt }` instead of a page/);

      const wrong: readonly [query: string, detail: RegExp][] = [
        ["format=xlsx", /"format": it must be csv, ndjson or json/],
        ["format=csv&delimiter=ab", /"delimiter": it must be , ; \| : or tab, not "ab"/],
        ["delimiter=%3B", /"delimiter" or "bom" without format=csv/],
        ["format=csv&bom=1", /"bom": it must be true or false/],
        ["format=csv&delimeter=%3B", /Unknown parameter "delimeter": did you mean "delimiter"/],
        ["link=true", /"link" without format/],
      ];
      for (const [query, detail] of wrong) {
        const { status, body } = await get(`/api/notes?${query}`);
        assertEquals(status, 400, query);
        assertMatch(body.detail, detail);
      }
      assertEquals((await get("/api/plain?format=csv")).body.items.length, 4);
      const inBody = { format: "csv", delimiter: "|", limit: 1 };
      const byBody = await send("POST", "/api/notes/query", inBody);
      assertEquals(byBody.body, "id|title|ownerId\r\n1|a;b|ada\r\n");
      const linked = await send("POST", "/api/notes/query", { ...inBody, link: true });
      assertMatch(linked.body.detail, /"link" without format=csv or ndjson in the query of a URL/);
      const headers = { "x-user": "ada", "content-type": "text/csv" };
      const typo = await send("POST", "/api/notes/import?ignoreExtras=true", "id\n9\n", headers);
      assertMatch(typo.body.detail, /"ignoreExtras": did you mean "ignoreExtra"/);
    }),
);

testOnDialects(
  "a download link has the rights of its user for a minute, and only for its export",
  async (engine) => {
    const hand = handClock();
    const runtime = systemRuntime(() => {});
    const clock = {
      ...runtime.clock,
      now: () => 1_800_000_000_000 + hand.clock.now(),
      elapsedMs: () => runtime.clock.elapsedMs() + hand.clock.now(),
    };
    const kv = createMemoryKeyValue(clock);
    const keys = new ApiKeys(kv, { ...runtime, clock });
    const given = { name: "ada's", userId: "ada", scopes: [], expiresAt: null };
    const { text: secret, key } = await keys.create(given);
    const { text: ofBob } = await keys.create({ ...given, name: "bob's", userId: "bob" });
    await withService(engine, [notes], () => ({
      kv,
      auth: { use: [apiKeyAuth()] },
      runtime: { ...runtime, clock, cron: undefined },
      resources: [
        resource(notes, {
          id: notes.id,
          auth: { read: ({ id }) => eq(notes.ownerId, id), create: () => all() },
          capabilities,
        }),
      ],
    }), async ({ db, get, send }) => {
      await insertRows(db, notes, rows);
      const query = "?format=csv&filter=id%3E1&select=id";
      for (
        const headers of [{ "x-api-key": secret }, { authorization: `Bearer ${secret}` }]
      ) {
        const issued = await get(`/api/notes${query}&link=true`, headers);
        assertEquals([issued.status, issued.headers.get("cache-control")], [200, "no-store"]);
        const { link, expiresAt } = issued.body;
        assertEquals(expiresAt, new Date(clock.now() + 60_000).toISOString());
        assert(link.startsWith(`${query}&downloadToken=`) && !link.includes(secret));
        const loaded = await get(`/api/notes${link}`);
        assertEquals([loaded.status, loaded.body], [200, "id\r\n3\r\n"]);
        // The link identifies its user, even if the request has the credentials of another user.
        for (
          const other of [{ cookie: "session=x" }, { authorization: `Bearer ${ofBob}` }, {
            "x-api-key": ofBob,
          }]
        ) {
          assertEquals((await get(`/api/notes${link}`, other)).body, "id\r\n3\r\n");
        }

        const elsewhere = [
          link.replace("id%3E1", "id%3E0"),
          link.replace("&select=id", ""),
          `${link}&limit=1`,
          `${link.slice(0, -1)}${link.endsWith("A") ? "B" : "A"}`,
          link.replace("format=csv&", "").replace("?", "?format=csv&"),
          link.replace("?format=csv&filter=id%3E1&select=id", "?format=csv"),
        ].filter((one) => one !== link);
        for (const changed of elsewhere) {
          assertEquals((await get(`/api/notes${changed}`)).status, 401, changed);
        }
        assertEquals((await get(`/api/notes/count${link}`)).status, 401);
        const body = { id: 9, title: "x" };
        assertEquals((await send("POST", `/api/notes${link}`, body)).status, 401);
        assertEquals((await send("DELETE", `/api/notes/1${link}`)).status, 401);
        hand.advance(60_001);
        assertEquals((await get(`/api/notes${link}`)).status, 401);
      }
      assertEquals((await get(`/api/notes${query}&link=true`)).status, 401);
      const refused = await get(`/api/notes?format=csv&filter=x%3D%3D1&link=true`, {
        "x-api-key": secret,
      });
      assertEquals(refused.status, 400);

      const last = await get(`/api/notes${query}&link=true`, { "x-api-key": secret });
      assertEquals((await get(`/api/notes${last.body.link}`)).status, 200);
      await keys.revoke(key.id);
      // The service may keep a key for some seconds, as for every request.
      hand.advance(40_000);
      assertEquals((await get(`/api/notes${last.body.link}`)).status, 401, "a revoked key");
    });
  },
);
