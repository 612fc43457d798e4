import { assert, assertEquals } from "@std/assert";
import * as exported from "../../mod.ts";
import { kindProperties } from "../../src/schema/kinds/kind_properties.ts";
import { reservedPathSegments } from "../../src/plan/key.ts";
import { operationProperties } from "../../src/resource/model/operation_properties.ts";
import type { OperationName } from "../../src/resource/model/operation.ts";

/** The method and the path of an operation below a resource, and a file that tests it over HTTP. */
interface TestedOperation {
  readonly request: string;
  readonly test: string;
}

/** Each operation. The compiler asks for a new one. */
const operations: Readonly<Record<OperationName, TestedOperation>> = {
  "list": { request: "GET /", test: "tests/http/list_test.ts" },
  "query": { request: "POST /query", test: "tests/http/query_by_body_test.ts" },
  "export": { request: "GET /", test: "tests/http/export_test.ts" },
  "get": { request: "GET /:id", test: "tests/http/crud_test.ts" },
  "count": { request: "GET /count", test: "tests/http/aggregate_test.ts" },
  "aggregate": { request: "GET /aggregate", test: "tests/http/aggregate_test.ts" },
  "search": { request: "GET /search", test: "tests/http/search_test.ts" },
  "create": { request: "POST /", test: "tests/http/crud_test.ts" },
  "update": { request: "PATCH /:id", test: "tests/http/crud_test.ts" },
  "replace": { request: "PUT /:id", test: "tests/http/crud_test.ts" },
  "delete": { request: "DELETE /:id", test: "tests/http/crud_test.ts" },
  "restore": { request: "POST /:id/restore", test: "tests/http/restore_test.ts" },
  "import": { request: "POST /import", test: "tests/http/import_test.ts" },
  "batch-create": { request: "POST /batch", test: "tests/http/batch_test.ts" },
  "batch-update": { request: "PATCH /batch", test: "tests/http/batch_test.ts" },
  "batch-replace": { request: "PUT /batch", test: "tests/http/batch_test.ts" },
  "batch-delete": { request: "DELETE /batch", test: "tests/http/batch_test.ts" },
  "upsert": { request: "POST /batch/upsert", test: "tests/http/batch_test.ts" },
  "procedure": { request: "POST /rpc/:name", test: "tests/http/procedure_test.ts" },
  "subscribe": { request: "GET /subscribe", test: "tests/live/events_test.ts" },
  "subscribe-aggregate": {
    request: "GET /aggregate/subscribe",
    test: "tests/http/live_aggregate_test.ts",
  },
};

const root = new URL("../../", import.meta.url);
const read = (path: string) => Deno.readTextFile(new URL(path, root));

Deno.test("each operation has a route", async () => {
  const routes = await read("src/resource/routes/routes.ts");
  for (const [name, { request }] of Object.entries(operations)) {
    const [method, path = ""] = request.split(" ");
    const pattern = path.includes(":name") ? "`" + path.replace(":name", "${name}") : `"${path}"`;
    assert(
      routes.replaceAll(/\s+/g, " ").includes(`"${method}", ${pattern}`),
      `${name}: ${request}`,
    );
  }
});

Deno.test("docs/contracts/reads.md lists the path segments that are no keys", async () => {
  const text = (await read("docs/contracts/reads.md")).replaceAll(/\s+/g, " ");
  const [, list = ""] = /After the path of a resource, (.*?) are never an id/.exec(text) ?? [];
  const listed = [...list.matchAll(/`([a-z]+)`/g)].map(([, segment = ""]) => segment);
  assertEquals(listed.sort(), [...reservedPathSegments].sort());
});

Deno.test("each operation has a row in docs/endpoints.md", async () => {
  const document = await read("docs/endpoints.md");
  for (const [name, { request }] of Object.entries(operations)) {
    const [method, path = ""] = request.split(" ");
    const shown = path === "/" ? "" : path.replace(":id", "1").replace(":name", "publish");
    const exported = name === "export" ? " as CSV" : "";
    assert(
      document.includes(`| \`${method} /api/notes${shown}\`${exported}`),
      `${name}: ${request}`,
    );
  }
});

Deno.test("each operation has a test file that sends its requests", async () => {
  for (const [name, { request, test }] of Object.entries(operations)) {
    const text = await read(test);
    const [method = "", path = ""] = request.split(" ");
    const own = path.split("/:")[0]?.slice(1) ?? "";
    assert(text.includes(own) && (method === "GET" || text.includes(method)), `${name}: ${test}`);
  }
});

Deno.test("each kind of columns has a function in mod.ts and a row in docs/tables.md", async () => {
  const document = await read("docs/tables.md");
  for (const kind of Object.keys(kindProperties)) {
    assert(Object.hasOwn(exported, kind), `mod.ts exports no ${kind}()`);
    assert(document.includes(`| \`${kind}`), `docs/tables.md: ${kind}`);
  }
});

Deno.test("each call of an operation is one of the client, or its absence has a reason", () => {
  assertEquals(Object.keys(operationProperties).sort(), Object.keys(operations).sort());
  const empty = Object.values(operationProperties).flatMap(({ client, code }) =>
    [client, code].flatMap((call) => typeof call === "object" && call.none === "" ? call : [])
  );
  assertEquals(empty, []);
});
