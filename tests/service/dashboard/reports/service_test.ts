import { assertEquals } from "@std/assert";
import { all, integer, resource, table, text } from "../../../../mod.ts";
import manifest from "../../../../deno.json" with { type: "json" };
import { anyEngine, withDashboard } from "./dashboard_service.ts";

const people = table("people", {
  id: integer().primaryKey(),
  email: text().notNull(),
  fullName: text(),
  password: text(),
});
const notes = table("notes", {
  id: integer().primaryKey(),
  authorId: integer().references(() => people.id),
  state: text({ enum: ["draft", "done"] }),
  body: text(),
  deletedAt: text(),
});

Deno.test("the report of the service says who may do what, and with which fields", () =>
  withDashboard(anyEngine, [people, notes], () => ({
    basePath: "/v1",
    openapi: { info: { title: "Shop", version: "3.2.1" } },
    abuseProtection: { budget: { classes: { anonymous: { capacity: 9, refillPerMinute: 1 } } } },
    kv: ":memory:",
    resources: [
      resource(people, {
        id: people.id,
        auth: { public: { read: () => all() }, read: () => all(), subscribe: () => all() },
        fields: { readable: [people.id, people.email, people.fullName] },
      }),
      resource(notes, {
        id: notes.id,
        path: "own-notes",
        auth: { public: { read: true }, create: () => all(), delete: () => all() },
        capabilities: { enableDelete: false },
        fields: { immutable: [notes.authorId], filterable: [notes.id] },
        softDelete: { field: notes.deletedAt },
        cost: { read: 3 },
        rateLimit: { windowMs: 60_000, maxRequests: 7 },
        computed: { size: ({ body }) => body?.length ?? 0 },
      }),
    ],
  }), async ({ report }) => {
    const found = await report("service");
    const { resources: [first, second], ...facts } = found;
    assertEquals(facts, {
      name: "Shop",
      version: "3.2.1",
      build: manifest.version,
      databases: [":memory: (node:sqlite)"],
      operator: null,
      logout: null,
      basePath: "/v1",
      environment: "development",
      isReadOnly: false,
      features: {
        ...{
          search: false,
          outbox: false,
          credits: false,
          webhooks: false,
          budgets: true,
          metrics: false,
        },
        changes: true,
        requests: true,
        statements: true,
        accounts: false,
        keys: false,
      },
    });
    assertEquals(first.rights, {
      read: "some rows of everyone, more by scope",
      ...{ create: "nobody", update: "nobody", delete: "nobody" },
      subscribe: "users by scope",
    });
    assertEquals([first.label, first.live, first.path, first.url], [
      ...["fullName", true, "people", "/v1/people"],
    ]);
    assertEquals(first.fields.map(({ name, hidden }: Fields) => [name, hidden]), [
      ...[["id", false], ["email", false], ["fullName", false], ["password", true]],
    ]);
    assertEquals(second.rights, {
      ...{ read: "everyone", create: "users by scope", update: "nobody" },
      // The scope is there, and the operation is not.
      ...{ delete: "nobody", subscribe: "nobody" },
    });
    assertEquals([second.label, second.live, second.path, second.softDelete], [
      ...["id", false, "own-notes", "deletedAt"],
    ]);
    assertEquals(second.protections.read, {
      ...{ cost: 3, rateLimit: '"requests";q=7;w=60', pow: null, captcha: false },
    });
    assertEquals(second.fields.find(({ name }: Fields) => name === "authorId"), {
      ...{ name: "authorId", type: "integer", nullable: true, hidden: false, writable: true },
      ...{ immutable: true, filterable: false, sortable: true, description: null },
      ...{ required: false, unique: false },
      references: { resource: "people", field: "id" },
    });
    assertEquals(second.fields.find(({ name }: Fields) => name === "state").enum, [
      ...["draft", "done"],
    ]);
    const id = second.fields.find(({ name }: Fields) => name === "id");
    assertEquals([id.required, id.unique, id.default], [false, true, "set by the database"]);
    assertEquals(second.fields.at(-1).type, "computed");
    assertEquals(second.relations, []);
  }));

interface Fields {
  readonly name: string;
  readonly hidden: boolean;
}
