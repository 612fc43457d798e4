/**
 * Programs over the `Api` of `program_api.ts`. Each is code; the refused ones have the error that
 * the compiler reports for them.
 */

/** Programs that the compiler accepts. */
export const accepted: readonly string[] = [
  // select narrows, and what is selected has the type of the row.
  `const { items } = await api.notes.list({ select: ["id", "title"] });
   for (const row of items) same<{ id: number; title: string }>(row);`,
  `same<Notes[]>((await api.notes.list()).items);`,
  `const page = await api.notes.list({ orderBy: ["-views", "title:asc"], totalCount: "estimated" });
   same<string | null>(page.nextCursor); same<number | undefined>(page.totalCount);`,
  // include widens.
  `const { items } = await api.notes.list({ include: ["author"] });
   for (const row of items) same<People | null>(row.author);`,
  `const { items } = await api.notes.list({ select: ["id"], include: ["author", "tags(limit:5)"] });
   for (const row of items) {
     same<number>(row.id);
     same<string | undefined>(row.tags[0]?.name);
   }`,
  `const { value } = await api.people.get("ada", { include: ["notes.author"] });
   same<string | undefined>(value.notes[0]?.title); same<unknown>(value.notes[0]?.["author"]);`,
  // get has null in its place only where ifNoneMatch is sent.
  `same<Notes>((await api.notes.get(1)).value);`,
  `const { etag } = await api.notes.get(1);
   same<Notes | null>((await api.notes.get(1, { ifNoneMatch: etag })).value);`,
  // Keys.
  `await api["atlas/places"].get(["NO", 7]); await api.people.get("ada");`,
  // Bodies.
  `const { value, etag } = await api.notes.create({ title: "Tea" }, { idempotencyKey: "x" });
   same<Notes>(value); same<string | null>(etag);
   await api.notes.update(1, { views: 3 }, { ifMatch: etag });
   await api.notes.replace(1, { title: "Tea" }, { ifMatch: etag });
   await api.notes.replaceBatch([{ id: 1, title: "Tea", _ifMatch: "x" }]);
   same<void>(await api.notes.delete(1));`,
  `await api.notes.update(1, { title: "Tea" }, {
     base: { title: "T" },
     onConflict: ({ base, mine, theirs }) => {
       same<Partial<Notes> | null>(base); same<Notes>(theirs);
       return theirs.views > 3 ? null : { ...mine, views: theirs.views };
     },
   });`,
  // Procedures.
  `same<{ at: string }>(await api.notes.rpc.publish({ id: 1 }));`,
  // Aggregates.
  `const { groups } = await api.notes.aggregate({ groupBy: ["status"], count: true, sum: ["views"] });
   for (const group of groups) {
     same<"draft" | "done">(group.key.status); same<number>(group.count);
     same<number | string | null>(group.sum.views);
   }`,
  `same<null | undefined>((await api.notes.aggregate()).groups[0]?.key);`,
  // Rows of any number.
  `for await (const row of api.notes.all({ select: ["views"] })) same<{ views: number }>(row);
   async function* rows() { yield { title: "Tea" }; }
   same<number>(await api.notes.import(rows(), { size: 10 }));`,
  // Files.
  `same<string>(await exportUrl(api.notes, { select: ["title"], orderBy: ["-views"], bom: true }));
   const onProgress = ({ sent, total }: { sent: number; total: number }) => sent / total;
   const file = new File(["title\\nTea\\n"], "notes.csv");
   same<number>((await importFile(api.notes, file, { delimiter: ";", onProgress })).written);
   try { await importFile(api.notes, file.stream()); } catch (error) {
     if (error instanceof ImportError) same<number | undefined>(error.report.errors?.[0]?.line);
   }`,
  `const filter = rsql\`title==\${"Tea"};views=in=\${[1, 2]};createdAt<\${new Date()}\`;
   same<number>(await api.notes.count({ filter }));`,
  // Errors.
  `try { await api.notes.get(1); } catch (error) {
     if (error instanceof ConflictError) same<string | null>(error.currentETag);
     if (error instanceof ServiceError && error.slug === "not-found") same<number>(error.status);
   }`,
  // Another fetch, and the fetch of an app.
  `createClient<Api>({ baseUrl: "", fetch, token: ({ refresh }) => refresh ? null : "x" });`,
  // A function over any resource that has rows with a title.
  `function titles<R extends ApiResource & { row: { title: string } }>(resource: ReadRequests<R>) {
     return resource.list();
   }
   await titles(api.notes);`,
];

/** Programs that the compiler refuses, each with the error. */
export const refused: readonly (readonly [program: string, error: RegExp])[] = [
  [`api.note;`, /Property 'note' does not exist on type 'Client<Api>'. Did you mean 'notes'\?/],
  [`await api.notes.list({ select: ["titel"] });`, /Type '"titel"' is not assignable to type/],
  [
    `const { items } = await api.notes.list({ select: ["id"] }); items[0]?.title;`,
    /Property 'title' does not exist on type '\{ id: number; \}'/,
  ],
  [`await api.notes.list({ include: ["autor"] });`, /Type '"autor"' is not assignable to type/],
  [
    `(await api.notes.list()).items[0]?.author;`,
    /Property 'author' does not exist on type 'Notes'/,
  ],
  [`await api.notes.list({ orderBy: ["-titel"] });`, /"-titel".*is not assignable/],
  [`await api.notes.list({ orderby: ["title"] });`, /'orderby' does not exist.*orderBy/s],
  [`await api.notes.list({ limit: "5" });`, /'string' is not assignable to type 'number'/],
  [`await api.notes.get("1");`, /'string' is not assignable to parameter of type 'number'/],
  [
    `await api["atlas/places"].get("NO");`,
    /is not assignable to parameter of type '\[string, number\]'/,
  ],
  [`await api["atlas/places"].get([7, "NO"]);`, /'number' is not assignable to type 'string'/],
  [`(await api.notes.get(1, { ifNoneMatch: "x" })).value.title;`, /is possibly 'null'/],
  [`await api.notes.create({});`, /Property 'title' is missing/],
  [`await api.notes.create({ title: "Tea", status: "open" });`, /'"open"' is not assignable/],
  [`await api.notes.update(1, { id: 2 });`, /'id' does not exist in type 'NotesUpdate'/],
  [`await api.audits.create({ id: 1 });`, /Property 'create' does not exist/],
  [`await api.audits.createBatch([]);`, /Property 'createBatch' does not exist/],
  [`await api.audits.upsertBatch([]);`, /Property 'upsertBatch' does not exist/],
  [`await api.audits.update(1, {});`, /Property 'update' does not exist/],
  [`await api.audits.delete(1);`, /Property 'delete' does not exist/],
  [`await api.audits.search({ q: "x" });`, /Property 'search' does not exist/],
  [`await api.audits.aggregate();`, /Property 'aggregate' does not exist/],
  // A service without tags ignores If-Match: nothing would be protected.
  [
    `await api.people.update("ada", { name: "Ada" }, { ifMatch: 'W/"1"' });`,
    /'string' is not assignable to type 'null \| undefined'/,
  ],
  [`await api.notes.rpc.publish({});`, /Property 'id' is missing/],
  [`await api.notes.rpc.unpublish({ id: 1 });`, /Property 'unpublish' does not exist/],
  [
    `(await api.notes.rpc.publish({ id: 1 })).when;`,
    /Property 'when' does not exist on type '\{ at: string; \}'/,
  ],
  [`await api.notes.aggregate({ sum: ["titel"] });`, /'"titel"' is not assignable/],
  [
    `(await api.notes.aggregate({ sum: ["views"] })).groups[0]?.avg;`,
    /Property 'avg' does not exist on type '\{ key: null; sum: \{ views: string \| number \| null; \}; \}'/,
  ],
  [`await api.notes.import([{ titel: "Tea" }]);`, /'titel' does not exist in type 'NotesCreate'/],
  [`await exportUrl(api.notes, { select: ["titel"] });`, /'"titel"' is not assignable/],
  [`await exportUrl(api.notes, { format: "xlsx" });`, /'"xlsx"' is not assignable/],
  [`await importFile(api.notes, [{ title: "Tea" }]);`, /not assignable to parameter of type/],
  [`rsql\`a==\${{ b: 1 }}\`;`, /'b' does not exist in type '.*FilterExpression/],
  [
    `rsql\`a==\${undefined}\`;`,
    /'undefined' is not assignable to parameter of type 'FilterOperand'/,
  ],
  [`createClient<Api>({});`, /Property 'baseUrl' is missing/],
  [`createClient<{ notes: { row: string } }>({ baseUrl: "" });`, /does not satisfy the constraint/],
  [
    `await api.notes.update(1, { title: "x" }, { onConflict: ({ theirs }) => ({ titel: theirs.title }) });`,
    /is not assignable to type|'titel' does not exist/,
  ],
];
