import { writeApiTypes } from "../../../src/openapi/api_types.ts";
import { describedApi } from "./program_api.ts";

/**
 * The probes of the client's types, over the `Api` of `program_api.ts`. Each has an expression, and
 * the type that the expression has exactly, or the error that the compiler reports.
 */
export const probes: readonly (readonly [expression: string, expected: string | RegExp])[] = [
  // Filters.
  [`api.notes.count({ filter: "title==x" })`, "Promise<number>"],
  [`api.notes.count({ filter: "titl==x" })`, /There is no field titl/],
  [`api.notes.count({ filter: "title==x;statu==draft" })`, /There is no field statu"/],
  [`api.notes.count({ filter: "views>1 and (titl=like=x or views<=3)" })`, /no field titl/],
  [
    `api.notes.count({ filter: "views>1 and (title%=x or not(views<=3)),price!%=1" })`,
    "Promise<number>",
  ],
  [`api.notes.count({ filter: "title=in=(a=,b)" as string })`, "Promise<number>"],
  [`api.notes.count({ filter: 'title=="a;b==1";title!=\\'it, (x)==1\\'' })`, "Promise<number>"],
  [`api.notes.count({ filter: '"titl"==x' })`, /There is no field titl/],
  [`api.notes.count({ filter: 'title=="say \\\\"x==1;y==2\\\\""' })`, "Promise<number>"],
  [`api.notes.count({ filter: "status==open" })`, /There is no value open/],
  [`api.notes.count({ filter: 'status=="open"' })`, /There is no value open/],
  [
    `api.notes.count({ filter: "status!=draft,status==null;status=in=(draft,done)" })`,
    "Promise<number>",
  ],
  [`api.notes.count({ filter: "status=in=(draft,open)" })`, /There is no value open/],
  [
    `api.notes.count({ filter: "views=in=(1,2);(status=out=(done, 'open'),title=in=(a,b)) and views>1" })`,
    /There is no value open/,
  ],
  [
    `api.notes.count({ filter: 'title=in=("a;b","c");status=in=(draft, "done"),views=out=(1,2)' })`,
    "Promise<number>",
  ],
  [
    `api.notes.count({ filter: \`status=in=(\${text},draft);views=in=(\${views})\` })`,
    "Promise<number>",
  ],
  [`api.notes.count({ filter: "titl=in=(draft,done)" })`, /There is no field titl/],
  [`api.notes.count({ filter: \`titl==\${text}\` })`, /There is no field titl/],
  [`api.notes.count({ filter: \`title==\${text};status==\${text};\${text}\` })`, "Promise<number>"],
  [`api.notes.count({ filter: \`\${text}==x\` })`, "Promise<number>"],
  [`api.notes.count({ filter: text })`, "Promise<number>"],
  [`api.notes.count({ filter: rsql\`title==\${text}\` })`, "Promise<number>"],
  [`api.notes.count({ filter: yes ? "title==x" : rsql\`title==\${text}\` })`, "Promise<number>"],
  [`api.notes.count({ filter: yes ? \`title==\${text}\` : undefined })`, "Promise<number>"],
  [`api.notes.count({ filter: "author.name==x;author.notes.title==y" })`, "Promise<number>"],
  [`api.notes.count({ filter: "author.nam==x" })`, /There is no field author.nam/],
  [`api.notes.count({ filter: "tags.some(name==x;id==y)" })`, "Promise<number>"],
  [`api.notes.count({ filter: "tags.some(nam==x)" })`, /There is no field nam/],
  [`api.notes.all({ filter: "titl==x" })`, /There is no field titl/],
  [`api.notes.updateBatch("titl==x", { views: 1 })`, /There is no field titl/],
  [`api.notes.deleteBatch("titl==x")`, /There is no field titl/],
  [`api.notes.search({ q: "tea", filter: "titl==x" })`, /There is no field titl/],
  [`titled(api.notes)`, "Promise<number>"],
  // Fields and orders.
  [`row(api.notes.list({ select: ["id", "status"] }))`, `{ id: number; status: "draft" | "done" }`],
  [`api.notes.list({ select: ["titel"] })`, /"titel"' is not assignable/],
  [`row(api.notes.list())`, "Notes"],
  [`row(api.tags.list()).shout`, "string | undefined"],
  [`row(api.tags.list({ select: ["id", "shout"] }))`, "{ id: string; shout: string }"],
  [`api.notes.list({ orderBy: ["-nosuch"] })`, /"-nosuch"' is not assignable/],
  [`api.notes.list({ orderBy: "-views" })`, /'string' is not assignable to type 'ListNotString</],
  [`api.notes.list({ select: "id,title" })`, /'string' is not assignable to type 'ListNotString</],
  [`api.notes.list({ include: "author" })`, /'string' is not assignable to type 'ListNotString</],
  [`api.notes.get(1, { include: "author" })`, /'string' is not assignable to type 'ListNotString</],
  [`api.notes.list({ orderBy: ["-views", "author.name", "title:desc"] })`, "Promise<Page<Notes>>"],
  // Related rows.
  [`row(api.notes.list({ include: ["author"] })).author`, "People | null"],
  [`row(api.people.list({ include: ["notes(limit:5;orderBy:-views)"] })).notes`, "Notes[]"],
  [
    `row(api.people.list({ include: ["notes(select:title,id)"] })).notes`,
    "{ id: number; title: string }[]",
  ],
  [
    `row(api.people.list({ include: ["notes( select: title ; limit:2 )"] })).notes`,
    "{ title: string }[]",
  ],
  [
    `row(api.people.list({ include: ["notes(filter:views<2;title==x;select:id)"] })).notes`,
    "{ id: number }[]",
  ],
  [`api.people.list({ include: ["notes(select:titel)"] })`, /There is no field titel/],
  [`api.people.list({ include: ["notes(orderBy:-titel)"] })`, /There is no field titel/],
  [`api.people.list({ include: ["notes(filter:titel==x;limit:2)"] })`, /There is no field titel/],
  [`api.people.list({ include: ["notes(filter:status==open)"] })`, /There is no value open/],
  [`api.people.list({ include: ["notes.nosuch"] })`, /There is no relation nosuch/],
  [`api.people.list({ include: ["note"] })`, /"note"' is not assignable/],
  [`row(api.people.list({ include: ["notes.tags"] })).notes[0]!.tags`, "Tags[]"],
  [
    `row(api.people.list({ include: ["notes.tags", "notes.author"] })).notes[0]!.author`,
    "People | null",
  ],
  [
    `row(api.people.list({ include: ["notes.author.notes(select:id)"] })).notes[0]!.author!.notes`,
    "{ id: number }[]",
  ],
  [
    `row(api.people.list({ include: ["notes(select:id;include:author(select:name),tags)"] })).notes`,
    "{ id: number; author: { name: string } | null; tags: Tags[] }[]",
  ],
  [
    `api.people.list({ include: ["notes(include:author(select:nam),tags)"] })`,
    /There is no field nam/,
  ],
  [
    `row(api.people.list({ include: ["notes(select:id)"] })).notes[0]!.title`,
    /Property 'title' does not exist/,
  ],
  [
    `row(api.people.list({ select: ["id"], include: [\`notes(limit:\${views})\`] })).notes`,
    "Notes[]",
  ],
  [
    `row(api.people.list({ include: ["notes(count:true;sum:views)"] }))._aggregates.notes`,
    "{ count: number; sum: { views: number | string | null } }",
  ],
  [`api.people.list({ include: ["notes(sum:view)"] })`, /There is no field view/],
  [
    `row(api.people.list({ include: [" notes ( count : true ; max : views ) "] }))._aggregates.notes`,
    "{ count: number; max: { views: number | null } }",
  ],
  [
    `row(api.people.list({ include: ["notes (limit: 2; select : id, title)", "notes.tags"] })).notes[0]!.title`,
    "string",
  ],
  [
    `row(api.people.list({ include: ["notes(filter:views<2;author.name==x;title=in=(a,b);limit:1)"] })).notes`,
    "Notes[]",
  ],
  [`api.people.list({ include: ["notes(limt:2)"] })`, /There is no option limt:2/],
  [`api.people.list({ include: ["notes(having:x)"] })`, /There is no option having:x/],
  [`api.people.list({ include: ["notes(2)"] })`, /There is no option 2/],
  [`api.people.list({ include: ["notes(limit:1;select:id;limit:1)"] })`, /limit occurs twice/],
  [
    `api.people.list({ include: ["notes(filter:views<2;filter:title==x)"] })`,
    /filter occurs twice/,
  ],
  [
    `row(api.people.list({ include: ["notes(limit:1;include:tags(limit:1))"] })).notes[0]!.tags`,
    "Tags[]",
  ],
  [`api.people.list({ include: ["notes(limit:abc)"] })`, /limit must be a number, not abc/],
  [`api.people.list({ include: ["notes(count:maybe)"] })`, /count must be true, not maybe/],
  [`api.people.list({ include: ["notes.author(limt:2)"] })`, /There is no option limt:2/],
  [`api.people.list({ include: [" note(limit:2)"] })`, /There is no relation note/],
  [
    `api.people.list({ include: [\`notes(limit:\${views};select:\${text})\`] })`,
    'Promise<Page<RowOf<Api["people"], FieldOf<Api["people"]>, \`notes(limit:\${number};select:\${string})\`>>>',
  ],
  [
    `api.people.get("ada", { include: ["notes.author"] })`,
    `Promise<Tagged<RowOf<Api["people"], FieldOf<Api["people"]>, "notes.author">>>`,
  ],
  // Aggregates.
  [
    `group(api.notes.aggregate({ groupBy: ["status"], count: true, avg: ["price"] }))`,
    `{ key: { status: "draft" | "done" }; count: number; avg: { price: number | string | null } }`,
  ],
  [`api.notes.aggregate({ sum: ["title"] })`, /"title"' is not assignable/],
  [
    `api.notes.aggregate({ groupBy: "status" })`,
    /'string' is not assignable to type 'ListNotString</,
  ],
  [`api.notes.aggregate({ avg: ["createdAt"] })`, /"createdAt"' is not assignable/],
  [`group(api.notes.aggregate({ max: ["title"] })).max`, "{ title: string | null }"],
  [`api.notes.aggregate({ orderBy: ["-nosuch"] })`, /"-nosuch"' is not assignable/],
  [
    `api.notes.aggregate({ groupBy: ["status"], orderBy: ["-title"] })`,
    /"-title"' is not assignable/,
  ],
  [
    `group(api.notes.aggregate({ groupBy: ["status"], orderBy: ["-count", "status:asc", "sum_views"] }))`,
    `{ key: { status: "draft" | "done" }; count: number }`,
  ],
  [`api.notes.aggregate({ filter: "titl==x" })`, /There is no field titl/],
  // Live lists and aggregates.
  [
    `liveList(api.notes, { select: ["id"], include: ["author"] }).get().items[0]!.author`,
    "People | null",
  ],
  [`liveList(api.notes, { filter: "titl==x" })`, /There is no field titl/],
  [
    `liveList(api.notes, { select: ["title"], orderBy: ["-views", "status:asc"] }).get().items[0]!`,
    `LiveListState<{ title: string; views: number; status: "draft" | "done" }>["items"][number]`,
  ],
  [
    `liveList(api.notes, { select: ["id"], orderBy: orders }).get().items[0]!.views`,
    /Property 'views' does not exist/,
  ],
  [`liveList(api.notes, { orderBy: ["-nosuch"] })`, /"-nosuch"' is not assignable/],
  [
    `liveList(api.notes, { orderBy: "-views" })`,
    /'string' is not assignable to type 'ListNotString</,
  ],
  [
    `liveList(api.notes, { select: "id,title" })`,
    /'string' is not assignable to type 'ListNotString</,
  ],
  [
    `liveList(api.notes, { include: "author" })`,
    /'string' is not assignable to type 'ListNotString</,
  ],
  [
    `prefetch(api.notes, { orderBy: ["-views"], include: ["author"], limit: 3 })`,
    "Promise<LiveSeed>",
  ],
  [`liveList(api.people, { include: ["notes(select:titel)"] })`, /There is no field titel/],
  [`liveList(api.places)`, /Property 'places' does not exist/],
  [
    `liveAggregate(api.notes, { groupBy: ["status"], count: true, sum: ["views"] }).get().groups`,
    `readonly { key: { status: "draft" | "done" }; count: number; sum: { views: number | string | null } }[]`,
  ],
  [`liveAggregate(api.notes, { groupBy: ["statu"] })`, /"statu"' is not assignable/],
  [`liveAggregate(api.notes, { grupBy: ["status"] })`, /'grupBy' does not exist/],
  [`liveAggregate(api.audits, { count: true })`, /There is no aggregate/],
  // Files.
  [`exportUrl(api.notes, { filter: "title==x", select: ["title"] })`, "Promise<string>"],
  [`exportUrl(api.notes, { filter: "titl==x" })`, /There is no field titl/],
  [`exportUrl(api.audits)`, /There is no export/],
  [`importFile(api.audits, "id")`, /There is no import/],
  // Writes that wait.
  [`outbox.create(api.notes, { title: "Tea" })`, "Write<Notes>"],
  [`outbox.create(api.notes, { titel: "Tea" })`, /'titel' does not exist/],
  [`outbox.create(api.audits, { id: 1 })`, /There is no create/],
  [`outbox.update(api.audits, 1, {})`, /There is no update/],
  [`outbox.delete(api.audits, 1)`, /There is no delete/],
  [`outbox.update(api["atlas/places"], ["NO", 7], {})`, "Write<Places>"],
  [`outbox.update(api["atlas/places"], "NO", {})`, /'string' is not assignable/],
  [
    `createOutbox(api, { identity: "ada", onConflict: ({ resource, theirs }) => resource === "people" ? { name: theirs?.name } : null })`,
    "Outbox",
  ],
  [
    `createOutbox(api, { identity: "ada", onConflict: (it) => it.resource === "notes" ? { title: it.theirs?.titel } : null })`,
    /Property 'titel' does not exist/,
  ],
  [
    `createOutbox(api, { identity: "ada", onConflict: (it) => it.resource === "note" ? null : null })`,
    /have no overlap/,
  ],
];

const head = `import {
  type ApiResource, type Client, createOutbox, type FieldOf, liveAggregate, liveList, exportUrl,
  importFile, type LiveListState, type LiveSeed, type OrderInput, prefetch,
  type Outbox, type Page, type ReadRequests, type RowOf, rsql, type Tagged, type Write,
} from "@svc/resource-api/client";
import type { Api, Notes, People, Places, Tags } from "./api.ts";
declare const api: Client<Api>, text: string, views: number, yes: boolean, outbox: Outbox, orders: OrderInput<"views" | "title">[];
declare function row<Row>(page: Promise<Page<Row>>): Row;
declare function group<Group>(result: Promise<{ readonly groups: Group[] }>): Group;
declare function titled<R extends ApiResource & { row: { title: string } }>(resource: ReadRequests<R>): Promise<number>;
export function generic<R extends ApiResource & { row: { title: string } }>(resource: ReadRequests<R>) {
  return resource.list({ filter: "title==x", orderBy: ["title"] });
}
type Same<A, B> = (<T>() => T extends A ? 1 : 2) extends (<T>() => T extends B ? 1 : 2) ? true : false;
declare function is<Expected>(): <Actual>(
  actual: Actual, ...wrong: Same<Actual, Expected> extends true ? [] : [expected: Expected, actual: Actual]
) => void;
`;

/** The written types, and a file with one probe in each line. */
export const probesProgram: Readonly<Record<string, string>> = {
  "api.ts": writeApiTypes(describedApi),
  "probes.ts": head +
    probes.map(([expression, expected]) =>
      typeof expected === "string" ? `is<${expected}>()(${expression});\n` : `${expression};\n`
    ).join(""),
};

/** The number of the probe in a line of the file. The first probe has the number 1. */
export function probeAt(line: number): number {
  return line - head.split("\n").length + 1;
}

/** Returns true if the compiler's error, or the empty string, is what the probe expects. */
export function isRight([, expected]: (typeof probes)[number], error: string): boolean {
  return typeof expected === "string" ? error === "" : expected.test(error);
}
