import { assert, assertEquals } from "@std/assert";
import type { ServiceSchema } from "../../src/openapi/service_schema.ts";
import { testOnEveryEngine, withService } from "../support/http.ts";
import { describedResources, describedTables, secretMark } from "./described_service.ts";

testOnEveryEngine("the schema says what resources have and can do", async (engine) => {
  await withService(engine, describedTables, config, async ({ get, app }) => {
    const { status, headers, body } = await get("/__service/schema");
    assertEquals([status, headers.get("content-type")], [200, "application/json"]);
    assertEquals(body, JSON.parse(JSON.stringify(app.schema())));
    // The assertions below look at its members.
    const { version, basePath, resources } = body as ServiceSchema;
    assertEquals([version, basePath], [1, "/api"]);
    const [notes, people, audits] = resources;
    assert(notes !== undefined && people !== undefined && audits !== undefined);
    assertEquals(
      [notes.path, people.path, notes.primaryKey],
      ["/api/notes", "/api/staff/people", ["id"]],
    );
    const fields = Object.fromEntries(notes.fields.map(({ name, ...facts }) => [name, facts]));
    assertEquals(fields, {
      id: { type: "integer", nullable: false, required: false, createOnly: true },
      ownerId: { type: "text", nullable: false, required: false },
      title: { type: "text", nullable: false, required: true, maxLength: 200 },
      status: {
        ...{ type: "text", nullable: false, required: false },
        enum: ["draft", "published"],
      },
      price: { type: "decimal", nullable: true, required: false },
      picture: { type: "bytes", nullable: true, required: false },
      data: { type: "json", nullable: true, required: false },
      version: { type: "integer", nullable: false, required: false },
      createdAt: { type: "timestamp", nullable: false, required: false, createOnly: true },
      deletedAt: { type: "timestamp", nullable: true, required: false, readOnly: true },
      shout: { type: "computed", nullable: true, required: false, readOnly: true },
    });
    assertEquals(notes.etag, { weak: true, required: false, versionField: "version" });
    assertEquals(notes.relations, [{
      ...{ name: "owner", type: "belongsTo", resource: "people", path: "/api/staff/people" },
      filterable: true,
      writes: ["connect", "create"],
      on: { field: "ownerId", references: "id" },
    }]);
    assertEquals([people.etag, audits.capabilities.enableCreate], [null, false]);
    const [publish, ping] = notes.procedures;
    assertEquals([publish?.public, ping?.public], [false, true]);
    assertEquals(publish?.output, {
      ...{ type: "object", properties: { published: { type: "boolean" } } },
      ...{ required: ["published"], additionalProperties: false },
    });
    // A Date has no JSON Schema.
    assertEquals(ping?.input, {});
  });
});

testOnEveryEngine("no description of a service names a hidden column", async (engine) => {
  await withService(engine, describedTables, config, async ({ get }) => {
    const pages = ["/__service/schema", "/api/", "/api"];
    const accepted = ["application/json", "text/html"];
    for (const path of pages) {
      for (const user of ["", "ada", "root"]) {
        for (const accept of accepted) {
          const { status, body } = await get(path, {
            accept,
            ...(user === "" ? {} : { "x-user": user }),
          });
          assertEquals(status, 200);
          assertEquals(JSON.stringify(body).toLowerCase().includes(secretMark), false, path);
        }
      }
    }
  });
});

testOnEveryEngine("the index shows each caller what the caller may do", async (engine) => {
  await withService(engine, describedTables, config, async ({ get }) => {
    const indexOf = async (user?: string) => {
      const { body } = await get("/api/", user === undefined ? {} : { "x-user": user });
      return new Map<string, IndexEntry>(
        body.resources.map((entry: IndexEntry) => [entry.name, entry]),
      );
    };
    const anonymous = await indexOf();
    assertEquals([...anonymous.keys()], ["notes"]);
    const requests = anonymous.get("notes")?.requests.map(({ method, path }) =>
      `${method} ${path}`
    );
    assertEquals(requests, [
      ...["GET /api/notes", "POST /api/notes/query"],
      ...["GET /api/notes/count", "GET /api/notes/aggregate"],
      ...["POST /api/notes/rpc/ping", "GET /api/notes/{id}"],
    ]);
    // Its rows are nothing for anonymous callers, so that the relation to them shows none.
    assertEquals(anonymous.get("notes")?.relations, []);

    const ada = await indexOf("ada");
    assertEquals([...ada.keys()], ["notes", "people"]);
    assertEquals(ada.get("notes")?.requests.length, 19);
    assertEquals(ada.get("people")?.relations.map(({ name }) => name), ["notes"]);
    assertEquals(ada.get("people")?.requests.map(({ operation }) => operation), [
      ...["list", "query", "count", "get"],
    ]);
    assertEquals([...(await indexOf("root")).keys()], ["notes", "people", "audits"]);
  });
});

testOnEveryEngine("the descriptions answer GET alone, and from their ETag", async (engine) => {
  await withService(engine, describedTables, config, async ({ get, send }) => {
    assertEquals((await send("POST", "/api/")).status, 405);
    assertEquals((await send("DELETE", "/__service/schema")).headers.get("allow"), "GET, HEAD");
    assertEquals((await send("HEAD", "/__service/schema")).status, 200);
    const { headers } = await get("/__service/schema");
    const again = await get("/__service/schema", { "if-none-match": headers.get("etag") ?? "" });
    assertEquals([again.status, again.body], [304, ""]);
    const page = await get("/api", { accept: "text/html" });
    assertEquals(page.headers.get("vary"), "accept");
    assertEquals(page.headers.get("content-security-policy")?.includes("default-src 'none'"), true);
    assertEquals(page.body.includes("<script"), false);
  });
});

testOnEveryEngine("without openapi there is the index alone", async (engine) => {
  const without = () => ({ ...config(), openapi: false });
  await withService(engine, describedTables, without, async ({ get, app }) => {
    assertEquals((await get("/__service/schema")).status, 404);
    assertEquals((await get("/api/")).status, 200);
    assertEquals(app.schema().resources.length, 3);
  });
});

function config() {
  return { resources: describedResources() };
}

interface IndexEntry {
  readonly name: string;
  readonly relations: readonly { readonly name: string }[];
  readonly requests: readonly {
    readonly operation: string;
    readonly method: string;
    readonly path: string;
  }[];
}
