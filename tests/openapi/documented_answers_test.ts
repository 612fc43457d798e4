import { assertEquals } from "@std/assert";
import { Ajv, type ValidateFunction } from "ajv";
import fc from "fast-check";
import {
  all,
  type AppConfig,
  decimal,
  eq,
  integer,
  json,
  procedure,
  resource,
  table,
  text,
  timestamp,
  uuid,
} from "../../mod.ts";
import { memorySearch } from "../../exports/search.ts";
import { engineOfEachDialect } from "../support/engines.ts";
import { type Service, withService } from "../support/http.ts";
import { testUnless } from "../support/skip.ts";
import { z } from "zod";
import { secretMark } from "./described_service.ts";
import { sampleOf } from "./sample_of.ts";

const groups = table("groups", {
  id: uuid().primaryKey(),
  name: text({ maxLength: 20 }),
  zqsecretPlan: text(),
});
const items = table("items", {
  id: integer().primaryKey(),
  groupId: uuid().as("group_id").references(() => groups.id),
  state: text({ enum: ["new", "done"] }).notNull().default("new"),
  price: decimal({ precision: 6, scale: 2 }),
  data: json(),
  version: integer().notNull().default(1),
  at: timestamp(),
  deletedAt: timestamp(),
  zqsecretNote: text().default("zqsecret-note"),
});

/** What of a configuration is drawn. */
const configurations = fc.record({
  basePath: fc.constantFrom("/api", "", "/a/b"),
  health: fc.boolean(),
  idempotent: fc.boolean(),
  isPublic: fc.boolean(),
  access: fc.subarray(["read", "create", "update", "delete", "subscribe"] as const),
  capabilities: fc.record({
    enableCreate: fc.boolean(),
    enableUpdate: fc.boolean(),
    enableDelete: fc.boolean(),
    enableBatch: fc.boolean(),
    enableExport: fc.boolean(),
    enableAggregations: fc.boolean(),
    enableSubscribe: fc.boolean(),
  }),
  strictInput: fc.boolean(),
  softDelete: fc.boolean(),
  etag: fc.constantFrom("none", "version", "hash", "required"),
  computed: fc.boolean(),
  nestedWrites: fc.boolean(),
  procedure: fc.constantFrom("none", "public", "user"),
  columns: fc.subarray(["groupId", "state", "price", "data", "at", "version"] as const),
  limit: fc.boolean(),
  search: fc.boolean(),
  /** Whether a caller without a user reads the key alone. */
  perUser: fc.boolean(),
});
type Drawn = typeof configurations extends fc.Arbitrary<infer T> ? T : never;

function configOf(drawn: Drawn): Omit<AppConfig, "db"> {
  const { access, capabilities, etag } = drawn;
  const readable = [items.id, ...drawn.columns.map((name) => items[name])];
  const scopes = Object.fromEntries(access.map((one) => [one, () => all()]));
  return {
    basePath: drawn.basePath,
    health: drawn.health,
    ...(drawn.search ? { search: memorySearch() } : {}),
    ...(drawn.idempotent ? {} : { idempotency: false as const }),
    resources: [
      resource(items, {
        id: items.id,
        auth: { ...scopes, ...(drawn.isPublic ? { public: true } : {}) },
        capabilities,
        fields: drawn.perUser
          ? { readable: { all: readable, by: (user) => user === null ? [items.id] : readable } }
          : { readable },
        strictInput: drawn.strictInput,
        nestedWrites: drawn.nestedWrites,
        ...(drawn.softDelete ? { softDelete: { field: items.deletedAt } } : {}),
        ...(etag === "none"
          ? {}
          : etag === "version"
          ? { etag: { versionField: items.version } }
          : { etag: { require: etag === "required" } }),
        ...(drawn.computed ? { computed: { size: () => 7 } } : {}),
        ...(drawn.limit ? { rateLimit: { windowMs: 60_000, maxRequests: 10_000 } } : {}),
        relations: {
          group: { type: "belongsTo", resource: groups, foreignKey: items.groupId },
        },
        procedures: drawn.procedure === "none" ? {} : {
          double: procedure({
            input: z.object({ n: z.int().min(0).max(9) }),
            output: z.int(),
            public: drawn.procedure === "public",
            handler: (_context, { n }) => 2 * n,
          }),
        },
      }),
      resource(groups, {
        id: groups.id,
        auth: { public: { read: () => eq(groups.name, "a") }, create: () => all() },
        fields: { readable: [groups.id, groups.name] },
        capabilities: { enableSubscribe: false },
      }),
    ],
  };
}

/** Every method at every path that a resource can have. */
const everyPath = ["", "/count", "/aggregate", "/aggregate/subscribe", "/subscribe", "/batch"]
  .concat("/search", "/batch/upsert", "/rpc/double", "/{id}", "/{id}/restore");
const everyMethod = ["GET", "POST", "PATCH", "PUT", "DELETE"];

for (const engine of engineOfEachDialect) {
  testUnless(
    engine.ignore ?? null,
    `each documented operation answers as documented, any other is 404 or 405 (${engine.name})`,
    async () => {
      await fc.assert(
        fc.asyncProperty(configurations, async (drawn) => {
          await withService(engine, [groups, items], () => configOf(drawn), async (service) => {
            const document = service.app.openapi();
            const text = JSON.stringify([document, service.app.schema()]).toLowerCase();
            assertEquals(text.includes(secretMark), false);
            await checkDocumented(service, document);
            await checkOthers(service, document, drawn.basePath);
          });
        }),
        { numRuns: 25 },
      );
    },
  );
}

// deno-lint-ignore no-explicit-any -- members of a document, as far as they are needed here
type Member = any;

async function checkDocumented(service: Service, document: Member): Promise<void> {
  const validatorOf = validators(document);
  for (const [path, item] of Object.entries<Member>(document.paths)) {
    for (const [method, operation] of Object.entries<Member>(item)) {
      for (const user of ["", "ada"]) {
        const where = `${method} ${path} ${user}`;
        const response = await request(service, { document, method, path, operation, user });
        const documented = resolved(operation.responses[response.status], document);
        if (documented === undefined) {
          throw new Error(`${where}: ${response.status} is not documented`);
        }
        const [type = ""] = (response.headers.get("content-type") ?? "").split(";");
        if (type === "text/event-stream") await response.body?.cancel();
        else await checkBody(await response.text(), type, documented, { validatorOf, where });
        for (const name of Object.keys(response.status < 300 ? documented.headers ?? {} : {})) {
          if (["ETag", "Location", "RateLimit"].includes(name)) {
            assertEquals(response.headers.has(name), true, `${where}: ${name}`);
          }
        }
      }
    }
  }
}

interface Asked {
  readonly document: Member;
  readonly method: string;
  readonly path: string;
  readonly operation: Member;
  readonly user: string;
}

async function request(
  { app }: Service,
  { document, method, path, operation, user }: Asked,
): Promise<Response> {
  const schema = operation.requestBody?.content["application/json"].schema;
  const needed = (operation.parameters ?? []).filter((one: Member) =>
    one.in === "query" && one.required === true
  );
  const query = needed.map(({ name }: Member, index: number) =>
    `${index === 0 ? "?" : "&"}${name}=text`
  ).join("");
  const headers = new Headers(user === "" ? {} : { "x-user": user });
  if (schema !== undefined) headers.set("content-type", "application/json");
  return await app.fetch(
    new Request(`http://test${path.replaceAll(/\{\w+\}/g, "1")}${query}`, {
      method: method.toUpperCase(),
      headers,
      body: schema === undefined ? null : JSON.stringify(sampleOf(schema, document)),
    }),
  );
}

async function checkBody(
  body: string,
  type: string,
  documented: Member,
  { validatorOf, where }: {
    readonly validatorOf: (schema: Member) => ValidateFunction;
    readonly where: string;
  },
): Promise<void> {
  if (body === "") return assertEquals(documented.content, undefined, where);
  const content = documented.content?.[type];
  if (content === undefined) throw new Error(`${where}: ${type} is not documented`);
  if (!/json/.test(type)) return;
  const validate = validatorOf(content.schema);
  if (!validate(JSON.parse(body))) {
    throw new Error(`${where}: ${body}\n${JSON.stringify(validate.errors)}`);
  }
  await Promise.resolve();
}

/** Validators of the schemas of a document. One that several answers share is compiled once. */
function validators(document: Member): (schema: Member) => ValidateFunction {
  const ajv = new Ajv({ strict: false, validateFormats: false });
  ajv.addSchema(document, "document");
  const compiled = new Map<string, ValidateFunction>();
  return (schema) => {
    // Outside of the document, into which its references lead.
    const text = JSON.stringify(schema).replaceAll('"$ref":"#', '"$ref":"document#');
    const validate = compiled.get(text) ?? ajv.compile(JSON.parse(text));
    compiled.set(text, validate);
    return validate;
  };
}

function resolved(member: Member, document: Member): Member {
  const name: string | undefined = member?.$ref?.split("/").at(-1);
  return name === undefined ? member : document.components.responses[name];
}

async function checkOthers(
  { app }: Service,
  document: Member,
  basePath: string,
): Promise<void> {
  for (const path of everyPath) {
    for (const method of everyMethod) {
      const full = `${basePath}/items${path}`;
      if (document.paths[full]?.[method.toLowerCase()] !== undefined) continue;
      const response = await app.fetch(
        new Request(`http://test${full.replace("{id}", "1")}`, {
          method,
          headers: { "x-user": "ada", "content-type": "application/json" },
          body: method === "GET" ? null : "{}",
        }),
      );
      await response.body?.cancel();
      assertEquals([404, 405].includes(response.status), true, `${method} ${full}`);
    }
  }
}
