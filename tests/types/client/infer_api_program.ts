const service = `
import {
  createApp, type InferApi, integer, json, openDatabase, procedure, resource, table, text, timestamp,
} from "@svc/resource-api";
import { sqliteSearch } from "@svc/resource-api/search";
import { z } from "zod";

const users = table("users", { id: text().primaryKey(), name: text().notNull(), secret: text() });
const notes = table("notes", {
  id: integer().primaryKey(),
  title: text().notNull(),
  status: text({ enum: ["draft", "done"] }).notNull().default("draft"),
  tags: json<string[]>(),
  authorId: text(),
  createdAt: timestamp().notNull(),
});
export const silent = { resources: [resource(notes, { id: notes.id })] };
const links = table("links", { from: text().primaryKey(), to: integer().primaryKey() });

const trees = table("trees", { id: integer().primaryKey(), ownerId: text(), kind: text().notNull() });

export const config = {
  db: await openDatabase("sqlite::memory:"),
  search: sqliteSearch(),
  resources: [
    resource(users, {
      id: users.id,
      fields: { readable: [users.id, users.name] },
      relations: { notes: { type: "hasMany", resource: notes, foreignKey: notes.authorId } },
      search: { enabled: false },
      capabilities: {
        ...{ enableCreate: false, enableDelete: false },
        ...{ enableAggregations: false, enableSubscribe: false, enableBatch: false },
      },
    }),
    resource(notes, {
      id: notes.id,
      path: "my/notes",
      etag: {},
      capabilities: { enableExport: true, enableImport: true },
      generatedFields: [notes.createdAt],
      computed: { length: ({ title }) => title.length, when: () => new Date() },
      relations: { author: { type: "belongsTo", resource: users, foreignKey: notes.authorId } },
      procedures: {
        double: procedure({
          input: z.object({ n: z.number() }),
          output: z.object({ twice: z.number() }),
          handler: (_context, { n }) => ({ twice: n * 2 }),
        }),
      },
    }),
    resource(links, { id: [links.from, links.to], capabilities: { enableUpdate: false } }),
    resource(trees, {
      id: trees.id,
      nestedWrites: true,
      relations: {
        owner: { type: "belongsTo", resource: users, foreignKey: trees.ownerId },
        notes: { type: "hasMany", resource: notes, foreignKey: notes.authorId, references: trees.ownerId },
      },
    }),
    resource(users, {
      id: users.id,
      path: "staff",
      fields: {
        readable: (user) => user?.id === "boss" ? [users.id, users.secret] : [users.id],
        writable: { all: [users.name], by: (user) => user === null ? [] : [users.name] },
      },
    }),
    resource((await (await openDatabase("sqlite::memory:")).introspect()).tables[0]!, { id: "id" }),
  ],
};
export const app = await createApp(config);
export type Api = InferApi<typeof config>;
export type Silent = InferApi<typeof silent>;
`;

const head = `
import { createClient, exportUrl, importFile, liveAggregate, liveList } from "@svc/resource-api/client";
import { type Api, app, type Silent } from "./service.ts";
const api = createClient<Api>({ baseUrl: "" });
function same<Expected>(value: Expected): void { void value; }
`;

const accepted = `
const { value, etag } = await api["my/notes"].get(1, { include: ["author"] });
same<"draft" | "done">(value.status); same<string[] | null>(value.tags);
same<number>(value.length); same<unknown>(value.when); same<string | null>(etag);
same<string | undefined>(value.author?.name);
await api["my/notes"].create({ title: "Tea" });
await api["my/notes"].update(1, { status: "done" }, { ifMatch: etag });
same<number>((await api["my/notes"].rpc.double({ n: 1 })).twice);
const { items } = await api.users.list({ select: ["id"], include: ["notes"] });
same<string | undefined>(items[0]?.id); same<string | undefined>(items[0]?.notes[0]?.title);
const tree = (await api.trees.list({ include: ["notes(select:title,status;include:author)"] })).items[0];
same<"draft" | "done" | undefined>(tree?.notes[0]?.status);
await api.trees.list({ filter: "kind==x;notes.title==y;owner.notes.some(status==done)" });
await api.users.list({ include: ["notes.author.other"] });
await api.trees.update(1, { kind: "x", notes: { connect: [1], create: [{ title: "Tea" }] } });
await api.trees.update(1, { owner: { disconnect: true }, notes: { set: [], disconnect: [2] } });
await api.trees.replace(1, { kind: "x", owner: { connect: "a" } });
await api.trees.create({ kind: "x", notes: [{ title: "Tea" }] });
await api.trees.create({ kind: "x", owner: { connect: "a" }, notes: { connect: [1] } });
same<string | null | undefined>((await api.staff.get("a")).value.secret);
await api["my/notes"].search({ q: "tea" }); await api.links.createBatch([]);
await exportUrl(api["my/notes"]); await importFile(api["my/notes"], "title");
liveAggregate(api.links, { count: true }); liveList(api.links); await api.links.aggregate();
await app.asSystem().users.aggregate({ count: true });
await api.links.get(["a", 1]); await api.links.create({ from: "a", to: 1 });
`;

/** What the compiler refuses, each with the error. */
export const refusedByInferApi: readonly (readonly [string, RegExp])[] = [
  ["api.notes;", /Property 'notes' does not exist/],
  ["api.old;", /Property 'old' does not exist/],
  [`await api.users.create({ id: "a", name: "b" });`, /Property 'create' does not exist/],
  [`await api.users.delete("a");`, /Property 'delete' does not exist/],
  [`await api.users.aggregate({ count: true });`, /Property 'aggregate' does not exist/],
  [`await api.users.deleteBatch("");`, /Property 'deleteBatch' does not exist/],
  [`await api.users.search({ q: "tea" });`, /Property 'search' does not exist/],
  [
    `await createClient<Silent>({ baseUrl: "" }).notes.search({ q: "tea" });`,
    /'search' does not exist/,
  ],
  [`liveAggregate(api.users, { count: true });`, /There is no aggregate/],
  [`liveList(api.users);`, /There is no subscribe/],
  [`await exportUrl(api.users);`, /There is no export/],
  [`await importFile(api.users, "id");`, /There is no import/],
  [`await api.trees.update(1, { notes: { conect: [1] } });`, /'conect' does not exist/],
  [`await api.trees.update(1, { notes: { connect: ["a"] } });`, /'string' is not assignable/],
  [`await api.trees.update(1, { owner: { connect: 1 } });`, /'number' is not assignable/],
  [`await api.trees.replace(1, { kind: "x", owner: { set: "a" } });`, /'set' does not exist/],
  [`await api.trees.create({ kind: "x", nots: [] });`, /'nots' does not exist/],
  [`await api.trees.create({ kind: "x", notes: [{ titel: "Tea" }] });`, /'titel' does not exist/],
  [
    `await api.trees.create({ kind: "x", owner: { disconnect: true } });`,
    /'disconnect' does not exist/,
  ],
  [`await api.trees.list({ include: ["notes(select:titel)"] });`, /There is no field titel/],
  [`await api.trees.list({ include: ["notes.autor"] });`, /There is no relation autor/],
  [`await api.trees.list({ filter: "kin==x" });`, /There is no field kin/],
  [`await api.trees.list({ filter: "notes.titel==x" });`, /There is no field notes.titel/],
  [`await api["my/notes"].count({ filter: "status==open" });`, /There is no value open/],
  [`await api.links.update(["a", 1], {});`, /Property 'update' does not exist/],
  [
    `await api.links.get("a");`,
    /not assignable to parameter of type 'readonly \[string, number\]'/,
  ],
  [`await api["my/notes"].get("a");`, /'string' is not assignable to parameter of type 'number'/],
  [`await api["my/notes"].update(1, { status: "open" });`, /'"open"' is not assignable/],
  // What the options do not show is not promised.
  [`(await api.users.get("a")).value.name.length;`, /is possibly 'undefined'/],
  [`(await api.staff.get("a")).value.name.length;`, /is possibly 'undefined'/],
  [`(await api["my/notes"].get(1)).value.when.getTime();`, /is of type 'unknown'/],
];

/** The service with its types, the program that is right, and a file for each that is refused. */
export const inferApiProgram: Readonly<Record<string, string>> = {
  "service.ts": service,
  "accepted.ts": head + accepted,
  ...Object.fromEntries(
    refusedByInferApi.map(([code], index) => [`program${index}.ts`, head + code]),
  ),
};
