import { assertEquals, assertMatch, assertStringIncludes } from "@std/assert";
import { writeApiTypes } from "../../src/openapi/api_types.ts";
import { toTsType } from "../../src/openapi/schema_type.ts";
import type { ResourceSchema } from "../../src/openapi/service_schema.ts";
import { engines } from "../support/engines.ts";
import { withService } from "../support/http.ts";
import { scratchFolder } from "../support/scratch.ts";
import { typeErrors } from "../types/check_program.ts";
import { describedResources, describedTables } from "./described_service.ts";

const engine = engines[0];

Deno.test("the types of a service are checked by the compiler where a program uses them", async () => {
  if (engine === undefined) throw new Error("There is an engine");
  const config = () => ({ resources: describedResources() });
  await withService(engine, describedTables, config, async ({ app }) => {
    const types = writeApiTypes(app.schema());
    assertEquals(types, writeApiTypes(app.schema()), "the same again");
    await using folder = await scratchFolder();
    await Deno.writeTextFile(`${folder.path}/api.d.ts`, types);
    // Checked as one, as most of a check goes into the libraries.
    const programs = {
      "right.ts": `
        const note: Api["notes"]["create"] = { title: "Tea", price: 2.5, status: "draft" };
        const key: Api["notes"]["key"] = 7;
        const person: Api["staff/people"]["row"] = { id: "ada", name: "Ada" };
        const change: Api["notes"]["update"] = { owner: { connect: "ada" } };
        const none: Api["audits"]["create"][] = [];
        const call: Api["notes"]["procedures"]["publish"]["input"] = { id: 1 };
        const related: Api["staff/people"]["relations"] = { notes: [] };
        export const all = [note, key, person, change, none, call, related] as const;
        export const read = ({ price, status }: Notes): [string | null, "draft" | "published"] =>
          [price, status];`,
      "without_title.ts": `export const x: Api["notes"]["create"] = {};`,
      "with_default.ts": `export const x: Api["notes"]["update"] = { createdAt: "" };`,
    };
    for (const [file, program] of Object.entries(programs)) {
      const text = `import type { Api, Notes } from "./api.d.ts";\n${program}`;
      await Deno.writeTextFile(`${folder.path}/${file}`, text);
    }
    const args = ["--no-lock", "--no-config", ...Object.keys(programs)];
    const errors = await typeErrors(folder.path, args);
    const messages = new Map(errors.map(({ file, message }) => [file, message]));
    assertMatch(messages.get("without_title.ts") ?? "", /'title' is missing/);
    assertMatch(messages.get("with_default.ts") ?? "", /'createdAt' does not exist/);
    // None in the right program and in the types themselves.
    assertEquals(errors.length, 2);
  });
});

Deno.test("the names of types are identifiers, and each is there once", () => {
  const resource = (name: string, path = name): ResourceSchema => ({
    ...{ name, path: `/api/${encodeURIComponent(path)}`, primaryKey: [], fields: [] },
    ...{ relations: [], etag: null, procedures: [] },
    capabilities: {
      ...{ enableCreate: true, enableUpdate: true, enableDelete: true, enableBatch: true },
      ...{ enableExport: true, enableImport: true, enableAggregations: true },
      enableRestore: true,
      enableHistory: true,
      enableSubscribe: true,
      enableSearch: true,
    },
  });
  const types = writeApiTypes({
    version: 1,
    basePath: "/api",
    resources: [
      ...[resource("order line"), resource("order_line"), resource("api"), resource("7up")],
      ...[
        resource("order_line_create"),
        resource("größe"),
        resource("notes", "old"),
        resource("notes"),
      ],
    ],
  });
  const names = [...types.matchAll(/^export interface (\S+) /gm)].map(([, name]) => name);
  assertEquals(new Set(names).size, names.length);
  for (const name of ["OrderLine", "OrderLine2", "Api2", "Table7up", "Größe", "Notes2"]) {
    assertEquals(names.includes(name), true, name);
  }
  assertStringIncludes(types, `  "order line": {`);
});

Deno.test("the type of a JSON Schema is written on one line", () => {
  const cases: readonly [schema: unknown, type: string][] = [
    [{}, "unknown"],
    [{ type: "string", nullable: true }, "string | null"],
    [{ type: "integer" }, "number"],
    [{ enum: ["a", 1, null] }, `"a" | 1 | null`],
    [
      { type: "array", items: { anyOf: [{ type: "string" }, { type: "number" }] } },
      "(string | number)[]",
    ],
    [
      { type: "object", properties: { a: { type: "boolean" }, "b-c": {} }, required: ["a"] },
      `{ a: boolean; "b-c"?: unknown }`,
    ],
    [{ type: "object", additionalProperties: { type: "number" } }, "{ [key: string]: number }"],
    [{ allOf: [{ type: "string" }, { type: "number" }] }, "(string) & (number)"],
    [{ $ref: "#/x" }, "unknown"],
    [true, "unknown"],
  ];
  for (const [schema, type] of cases) assertEquals(toTsType(schema), type);
});
