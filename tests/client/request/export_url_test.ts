import { assert, assertEquals, assertRejects } from "@std/assert";
import { createClient, exportUrl, ServiceError } from "../../../exports/client.ts";
import { eq, integer, openDatabase, resource, table, text } from "../../../mod.ts";
import { ada, notes, password, withAccounts } from "../../identity/accounts_support.ts";
import { insertRows } from "../../support/http.ts";

interface Note {
  id: number;
  title: string | null;
  ownerId: string | null;
}

interface NotesApi {
  path: "/api/notes";
  key: number;
  row: Note;
  create: never;
  update: never;
  relations: Record<never, never>;
  etag: false;
  procedures: Record<never, never>;
}

interface Api {
  notes: NotesApi;
  open: NotesApi;
  plain: NotesApi;
}

const openNotes = table("open_notes", { id: integer().primaryKey(), title: text() });
const exporting = { enableExport: true };
const bob = { email: "bob@example.com", password };

Deno.test("a URL of an export has the rights of its user for a minute, without a header", async () => {
  const withRequests = { requests: true, metrics: false } as const;
  const db = await openDatabase("sqlite::memory:");
  await db.createTables([openNotes]);
  await withAccounts({}, async ({ app, post, signUp, send, advance, observations }) => {
    await signUp();
    await signUp(bob);
    const tokenOf = async (who: typeof bob) =>
      (await post("/api/auth/login", { ...who, transport: "bearer" })).body;
    const logins = { ada: await tokenOf(ada), bob: await tokenOf(bob) };
    await insertRows(db, notes, [
      { id: 1, title: "Tea, green", ownerId: logins.ada.user.id },
      { id: 2, title: "Jam", ownerId: logins.bob.user.id },
      { id: 3, title: "=1+1", ownerId: logins.ada.user.id },
    ]);
    await insertRows(db, openNotes, [{ id: 7, title: "for all" }]);
    const clientOf = (token: string | null) =>
      createClient<Api>({ baseUrl: "http://localhost/", token: () => token, fetch: app.fetch });
    const api = clientOf(logins.ada.token);
    const load = (url: string, headers: Record<string, string> = {}) => {
      assert(url.startsWith("http://localhost/api/"), url);
      return send("GET", url.slice("http://localhost".length), undefined, { headers });
    };

    const bearer = { authorization: `Bearer ${logins.ada.token}` };
    const csv = await exportUrl(api.notes);
    const loaded = await load(csv);
    const own = await send("GET", "/api/notes?format=csv", undefined, { headers: bearer });
    assertEquals(loaded.body, own.body);
    assertEquals(loaded.body.split("\r\n").length, 4);
    const { headers } = loaded;
    assertEquals(headers.get("content-disposition"), 'attachment; filename="notes.csv"');
    assertEquals(headers.get("cache-control"), "no-store");
    assertEquals(headers.get("referrer-policy"), "no-referrer");
    const query = { filter: "id>1", orderBy: ["-id"], select: ["title"], limit: 9 } as const;
    const lines = await load(await exportUrl(api.notes, { ...query, format: "ndjson" }));
    assertEquals(lines.body, '{"title":"=1+1"}\n');
    const sheet = { select: ["id", "title"], delimiter: ";", bom: true } as const;
    assertEquals((await load(await exportUrl(api.notes, sheet))).body.split("\r\n")[2], "3;'=1+1");
    const ofBob = await load(await exportUrl(clientOf(logins.bob.token).notes), bearer);
    assertEquals(ofBob.body.split("\r\n").slice(1), [`2,${logins.bob.user.id},Jam`, ""]);
    const ofAll = await load(await exportUrl(clientOf(null).open));
    assertEquals(ofAll.body, "id,title\r\n7,for all\r\n");

    const changed = [
      csv.replace("format=csv", "format=ndjson"),
      csv.replace("/notes", "/open"),
      csv.replace("format=csv", "format=csv&limit=1"),
      csv.slice(0, -2),
    ];
    for (const url of changed) {
      const { status, headers } = await load(url);
      assertEquals([status, headers.get("cache-control")], [401, "no-store"], url);
    }
    // If a link returned a link, its user could renew it for ever.
    const nested = await send("GET", "/api/notes?format=csv&%6cink=true", undefined, {
      headers: bearer,
    });
    assertEquals((await load(`http://localhost/api/notes${nested.body.link}`)).body, own.body);

    await assertRejects(() => exportUrl(api.plain), TypeError, "has no enableExport");
    const anonymous = await assertRejects(() => exportUrl(clientOf(null).notes), ServiceError);
    assertEquals(anonymous.status, 401);
    const wrong = { filter: "titel==x" };
    const typo = await assertRejects(() => exportUrl(api.notes, wrong), ServiceError);
    assertEquals(typo.slug, "filter-parse-error");

    assertEquals((await load(csv)).status, 200);
    advance(60_001);
    assertEquals((await load(csv)).status, 401, "expired");
    const last = await exportUrl(api.notes);
    const { status } = await post("/api/auth/logout", {}, { headers: bearer });
    assertEquals(status, 204);
    assertEquals((await load(last)).status, 401, "after the logout");
    const spelled = JSON.stringify(observations);
    assert(spelled.includes('"kind":"request"'), spelled);
    assert(!spelled.includes("downloadToken"), spelled);
  }, {
    db,
    movesClock: true,
    config: {
      observability: withRequests,
      resources: [
        resource(notes, {
          id: notes.id,
          auth: { read: (user) => eq(notes.ownerId, user.id) },
          capabilities: exporting,
        }),
        resource(notes, { id: notes.id, path: "plain", auth: { public: true } }),
        resource(openNotes, {
          id: openNotes.id,
          path: "open",
          auth: { public: true },
          capabilities: exporting,
        }),
      ],
    },
  });
});

Deno.test("a download by a URL counts against the rate limit of its user", async () => {
  await withAccounts({}, async ({ app, post, signUp, send }) => {
    await signUp();
    const { token } = (await post("/api/auth/login", { ...ada, transport: "bearer" })).body;
    const api = createClient<Api>({ baseUrl: "http://test", token, fetch: app.fetch });
    const url = await exportUrl(api.notes);
    const statusFrom = async (address: string) =>
      (await send("GET", url.slice("http://test".length), undefined, { address })).status;
    assertEquals(await statusFrom("192.0.2.7"), 200);
    assertEquals(await statusFrom("192.0.2.8"), 200);
    assertEquals(await statusFrom("192.0.2.9"), 429);
    const limited = await assertRejects(() => exportUrl(api.notes), ServiceError);
    assertEquals(limited.slug, "rate-limit-exceeded");
  }, {
    config: {
      resources: [
        resource(notes, {
          id: notes.id,
          auth: { read: (user) => eq(notes.ownerId, user.id) },
          capabilities: exporting,
          rateLimit: { maxRequests: 3, windowMs: 60_000 },
        }),
      ],
    },
  });
});
