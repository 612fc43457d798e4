import { assert, assertEquals } from "@std/assert";
import { parse } from "@std/yaml";
import { withRouteDescription } from "../../src/protocol/route_description.ts";
import { testOnEveryEngine, withService } from "../support/http.ts";
import { describedResources, describedTables, secretMark } from "./described_service.ts";
import { withEverything } from "./everything.ts";

// deno-lint-ignore no-explicit-any -- a test says what a document holds by asserting it
type Document = any;

function operationsOf(document: Document): ReadonlyMap<string, Document> {
  return new Map(
    Object.entries<Document>(document.paths).flatMap(([path, item]) =>
      Object.entries<Document>(item).map(([method, operation]) =>
        [`${method.toUpperCase()} ${path}`, operation] as const
      )
    ),
  );
}

testOnEveryEngine("the document has the routes that are mounted, and no other", async (engine) => {
  const config = () => ({ resources: describedResources() });
  await withService(engine, describedTables, config, async ({ get, app }) => {
    const { status, headers, body } = await get("/__service/openapi.json");
    assertEquals([status, headers.get("content-type")], [200, "application/json"]);
    const yaml = await get("/__service/openapi.yaml");
    assertEquals(yaml.headers.get("content-type"), "application/yaml");
    assertEquals(parse(yaml.body), body);
    assertEquals(body, JSON.parse(JSON.stringify(app.openapi())));

    const documented = [...operationsOf(body).keys()];
    const mounted = app.hono.routes.filter(({ method, path }) =>
      method !== "ALL" && !path.includes("*")
    ).map(({ method, path }) =>
      `${method} ${path.replaceAll(/:(\w+)/g, "{$1}").replace(/\/$/, "")}`
    );
    assertEquals(documented.sort(), [...new Set(mounted)].sort());
    assertEquals(documented.filter((one) => one.includes("/people/batch")), []);
  });
});

Deno.test("no document names a hidden column, or a default of one", async () => {
  await withEverything(async (app) => {
    const read = async (path: string) =>
      await (await app.fetch(new Request(`http://x${path}`))).text();
    for (
      const path of ["/__service/openapi.json", "/__service/openapi.yaml", "/__service/schema"]
    ) {
      const text = await read(path);
      assert(text.includes("shout"), path);
      assertEquals(text.toLowerCase().includes(secretMark), false, path);
    }
    assertEquals(await read("/__service/openapi.json"), await read("/__service/openapi.json"));
  });
});

Deno.test("an operation names its parameters, its rights and its problems", async () => {
  await withEverything((app) => {
    const document: Document = app.openapi();
    const operations = operationsOf(document);
    const ids = [...operations.values()].map(({ operationId }) => operationId);
    assertEquals(new Set(ids).size, ids.length, "each operation has an id of its own");
    const of = (key: string): Document => operations.get(key);
    const codesOf = (key: string, status: number): string[] => {
      const name = of(key).responses[status].$ref.split("/").at(-1);
      const { schema } = document.components.responses[name].content["application/problem+json"];
      return schema.allOf[1].properties.code.enum;
    };

    const things = "/api/order%20things";
    const list = of(`GET ${things}`);
    const filter = list.parameters.find(({ name }: Document) => name === "filter");
    for (const part of ["=between=", "=near=", "order, line, name, price, updatedAt"]) {
      assert(filter.description.includes(part), part);
    }
    assertEquals(Object.keys(list.responses[200].content), [
      ...["application/json", "text/csv", "application/x-ndjson"],
    ]);
    assertEquals(list.security, [
      ...[{ jwt: [] }, { apiKey: [] }, { sessionCookie: [] }, { sessionToken: [] }],
    ]);
    assertEquals(of(`GET ${things}/subscribe`).security[0], {});
    assert(
      of(`GET ${things}/subscribe`).responses[200].content["text/event-stream"].schema.description
        .includes("`existing`"),
    );
    const patch = of(`PATCH ${things}/{id}`);
    const condition = patch.parameters.find(({ name }: Document) => name === "If-Match");
    assertEquals([condition.in, condition.required], ["header", true]);
    assert("ETag" in patch.responses[200].headers);
    assertEquals(codesOf(`PATCH ${things}/{id}`, 412), ["PRECONDITION_FAILED"]);
    assertEquals(codesOf(`PATCH ${things}/{id}`, 428), [
      ...["PRECONDITION_REQUIRED", "PROOF_OF_WORK_REQUIRED", "CAPTCHA_REQUIRED"],
    ]);
    assertEquals(codesOf(`POST ${things}`, 429), ["RATE_LIMIT_EXCEEDED", "BUDGET_EXHAUSTED"]);
    assert("304" in of("GET /api/notes/{id}").responses);
    assertEquals("304" in of("GET /api/staff/people/{id}").responses, false);
    assertEquals(of("POST /api/notes/rpc/ping").security[0], {});
    assertEquals(
      of("POST /api/notes/rpc/publish").requestBody.content["application/json"].schema.required,
      ["id"],
    );
    assertEquals(document.components.schemas.NotesCreate.properties.status, {
      ...{ type: "string", enum: ["draft", "published"], description: '"draft" unless set.' },
    });
    const { price } = document.components.schemas.OrderThingsCreate.properties;
    assertEquals(price.description, '"9.00" unless set. Must be at least 0.50.');
    assertEquals(document.components.schemas.Notes.properties.deletedAt, {
      ...{ type: "string", format: "date-time", nullable: true, readOnly: true },
    });
    assertEquals(document.components.schemas.NotesCreate.required, ["title"]);
    assertEquals(document.components.schemas.OrderThingsUpdate.additionalProperties, false);
    const { NotesUpdate, NotesReplace, NotesPatch } = document.components.schemas;
    const { anyOf: [id] } = NotesUpdate.properties.owner.properties.connect;
    assertEquals([id.type, NotesUpdate.properties.owner.additionalProperties], ["string", false]);
    assertEquals(Object.keys(NotesReplace.properties.owner.properties), ["connect", "create"]);
    assertEquals(NotesPatch.properties.owner, undefined, "batches write no related rows");
    assertEquals(document.components.securitySchemes.apiKey.name, "X-Key");
    for (
      const path of ["/api/auth/login", "/api/auth/verify", "/api/billing/checkout", "/healthz"]
    ) {
      assert(path in document.paths, path);
    }
    assertEquals([document.info.title, document.servers[0].url], [
      "Everything",
      "https://api.test/v2",
    ]);
    return Promise.resolve();
  });
});

Deno.test("a document that was read before a router was mounted did not have its routes", async () => {
  await withEverything(async (app) => {
    const read = async () =>
      await (await app.fetch(new Request("http://x/__service/openapi.json"))).json();
    assertEquals("/late" in (await read()).paths, false);
    const late = withRouteDescription({
      ...{ id: "late", tag: "Health", summary: "Late", needsUser: false },
      ...{ answers: { 204: null }, problems: [] },
    }, () => new Response(null, { status: 204 }));
    app.hono.get("/late", late);
    assertEquals((await read()).paths["/late"].get.operationId, "late");
  });
});

testOnEveryEngine("a document says where the app is mounted", async (engine) => {
  const config = () => ({ resources: describedResources(), mountedAt: "/v1" });
  await withService(engine, describedTables, config, async ({ get }) => {
    const { body } = await get("/__service/openapi.json");
    assertEquals(body.servers, [{ url: "/v1" }]);
    assert("/api/notes" in body.paths);
  });
});
