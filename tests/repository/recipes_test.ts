import { assert, assertEquals } from "@std/assert";
import * as exported from "../../mod.ts";
import { kindProperties } from "../../src/schema/kinds/kind_properties.ts";
import { reservedPathSegments } from "../../src/plan/key.ts";
import type { ResourceClient } from "../../src/api/resource_client.ts";
import type { AnyApiResource, CodeBatches, CodeCalls } from "../../src/resource/model/code_api.ts";
import type { OperationName } from "../../src/resource/model/operation.ts";

/** The name of a client function, except for functions that only combine other functions. */
type ClientCall = Exclude<keyof ResourceClient<AnyApiResource>, symbol>;

/** The name of a function with which server-side code calls an operation of a resource. */
type CodeCall =
  | Exclude<keyof CodeCalls<AnyApiResource>, symbol | "batch">
  | `batch.${keyof CodeBatches<AnyApiResource>}`;

/** The reason why the client or server-side code has no function for an operation. */
interface NoCall {
  readonly none: string;
}

/** The method and the path of an operation below a resource, and a file that tests it over HTTP. */
interface TestedOperation {
  readonly request: string;
  readonly test: string;
  /** The function of the client, or the reason why there is none. */
  readonly client: ClientCall | NoCall;
  /** The function for server-side code, or the reason why there is none. */
  readonly code: CodeCall | NoCall;
}

/** Each operation. The compiler asks for a new one. */
const operations: Readonly<Record<OperationName, TestedOperation>> = {
  "list": { request: "GET /", test: "tests/http/list_test.ts", client: "list", code: "list" },
  "query": {
    request: "POST /query",
    test: "tests/http/query_by_body_test.ts",
    client: { none: "`list` sends a long query in a body" },
    code: { none: "`list` has no URL whose length is limited" },
  },
  "export": {
    request: "GET /",
    test: "tests/http/export_test.ts",
    client: { none: "`exportUrl` returns a URL of the export" },
    code: { none: "`all` returns the rows as objects" },
  },
  "get": { request: "GET /:id", test: "tests/http/crud_test.ts", client: "get", code: "get" },
  "count": {
    request: "GET /count",
    test: "tests/http/aggregate_test.ts",
    client: "count",
    code: "count",
  },
  "aggregate": {
    request: "GET /aggregate",
    test: "tests/http/aggregate_test.ts",
    client: "aggregate",
    code: "aggregate",
  },
  "search": {
    request: "GET /search",
    test: "tests/http/search_test.ts",
    client: "search",
    code: "search",
  },
  "create": {
    request: "POST /",
    test: "tests/http/crud_test.ts",
    client: "create",
    code: "create",
  },
  "update": {
    request: "PATCH /:id",
    test: "tests/http/crud_test.ts",
    client: "update",
    code: "update",
  },
  "replace": {
    request: "PUT /:id",
    test: "tests/http/crud_test.ts",
    client: "replace",
    code: "replace",
  },
  "delete": {
    request: "DELETE /:id",
    test: "tests/http/crud_test.ts",
    client: "delete",
    code: "delete",
  },
  "restore": {
    request: "POST /:id/restore",
    test: "tests/http/restore_test.ts",
    client: "restore",
    code: "restore",
  },
  "history": {
    request: "GET /:id/history",
    test: "tests/http/history_test.ts",
    client: { none: "`rowHistory` reads it, so that other pages do not load the function" },
    code: { none: "a program reads the table _service_history" },
  },
  "revert": {
    request: "POST /:id/revert",
    test: "tests/http/revert_test.ts",
    client: { none: "`revertRow` sends it, so that other pages do not load the function" },
    code: { none: "`update` changes the row" },
  },
  "import": {
    request: "POST /import",
    test: "tests/http/import_test.ts",
    client: "import",
    code: { none: "`batch.create` takes rows, and the command line imports files" },
  },
  "batch-create": {
    request: "POST /batch",
    test: "tests/http/batch_test.ts",
    client: "createBatch",
    code: "batch.create",
  },
  "batch-update": {
    request: "PATCH /batch",
    test: "tests/http/batch_test.ts",
    client: "updateBatch",
    code: "batch.update",
  },
  "batch-replace": {
    request: "PUT /batch",
    test: "tests/http/batch_test.ts",
    client: "replaceBatch",
    code: "batch.replace",
  },
  "batch-delete": {
    request: "DELETE /batch",
    test: "tests/http/batch_test.ts",
    client: "deleteBatch",
    code: "batch.delete",
  },
  "upsert": {
    request: "POST /batch/upsert",
    test: "tests/http/batch_test.ts",
    client: "upsertBatch",
    code: "batch.upsert",
  },
  "procedure": {
    request: "POST /rpc/:name",
    test: "tests/http/procedure_test.ts",
    client: "rpc",
    code: "rpc",
  },
  "subscribe": {
    request: "GET /subscribe",
    test: "tests/live/events_test.ts",
    client: { none: "`liveList` follows rows" },
    code: { none: "a stream has a client over HTTP" },
  },
  "subscribe-aggregate": {
    request: "GET /aggregate/subscribe",
    test: "tests/http/live_aggregate_test.ts",
    client: { none: "`liveAggregate` follows groups" },
    code: { none: "a stream has a client over HTTP" },
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
  const empty = Object.values(operations).flatMap(({ client, code }) =>
    [client, code].flatMap((call) => typeof call === "object" && call.none === "" ? call : [])
  );
  assertEquals(empty, []);
});
