import { assertEquals, assertRejects } from "@std/assert";
import { createCollection, createLiveQueryCollection, eq } from "@tanstack/db";
import { ConflictError, createClient, ServiceError } from "../../../exports/client.ts";
import { liveCollectionOptions } from "../../../src/client/bindings/tanstack_db.ts";
import { prefetch } from "../../../src/client/live/list_source.ts";
import type { LiveSeed } from "../../../src/client/live/live_messages.ts";
import { all } from "../../../src/filter/builders.ts";
import { resource } from "../../../src/resource/define/resource_definition.ts";
import { integer, text } from "../../../src/schema/column_builder.ts";
import { table } from "../../../src/schema/table.ts";
import type { Engine } from "../../support/engines.ts";
import { insertRows, type Service, testOnDialects, withService } from "../../support/http.ts";
import { gate } from "../../support/scratch.ts";
import { fastEnvironment } from "../support/fast_environment.ts";

const ada = { "x-user": "ada" };

const issues = table("issues", {
  id: integer().primaryKey(),
  title: text({ maxLength: 20 }).notNull(),
  status: text().notNull(),
});

type Issue = { id: number; title: string; status: string };

interface Api {
  issues: {
    path: "/api/issues";
    key: number;
    row: Issue;
    create: Issue;
    update: Partial<Issue>;
    relations: Record<never, never>;
    etag: true;
    procedures: Record<never, never>;
  };
}

const rows: readonly Issue[] = [
  { id: 1, title: "one", status: "open" },
  { id: 2, title: "two", status: "done" },
  { id: 3, title: "three", status: "open" },
];

function withIssues(engine: Engine, work: (service: Service) => Promise<void>): Promise<void> {
  const rights = { create: () => all(), update: () => all(), delete: () => all() };
  return withService(engine, [issues], () => ({
    resources: [
      resource(issues, {
        id: issues.id,
        auth: { public: true, ...rights },
        etag: {},
        capabilities: { enableBatch: true },
      }),
    ],
  }), async (service) => {
    await insertRows(service.db, issues, rows);
    await work(service);
    // A connection without lists closes a little later, for a page that opens others.
    await new Promise((resolve) => setTimeout(resolve, 20));
  });
}

/** A client in this process. Its changes of rows wait until they may pass. */
function clientOf({ app }: Service, mayPass: Promise<void> = Promise.resolve()) {
  return createClient<Api>({
    baseUrl: "http://test",
    environment: fastEnvironment(20),
    headers: ada,
    async fetch(request) {
      if (request.method === "PATCH") await mayPass;
      return await app.fetch(request);
    },
  });
}

function collectionOf(service: Service, filter?: string, mayPass?: Promise<void>) {
  const api = clientOf(service, mayPass);
  return createCollection({
    ...liveCollectionOptions(api.issues, { filter, getKey: ({ id }) => id }),
    gcTime: 0,
  });
}

/** The titles that a collection has shown one after the other for a row. */
function titlesOf(collection: ReturnType<typeof collectionOf>, id: number): (string | null)[] {
  const titleOf = () => collection.get(id)?.title ?? null;
  let last = titleOf();
  const titles: (string | null)[] = [];
  collection.subscribeChanges(() => {
    if (titleOf() === last) return;
    last = titleOf();
    titles.push(last);
  }, { includeInitialState: true });
  return titles;
}

/** Waits until a collection is right; fails with its rows after ten seconds. */
function untilRows(
  collection: Pick<ReturnType<typeof collectionOf>, "toArray" | "subscribeChanges">,
  isRight: (rows: readonly Issue[]) => boolean,
): Promise<void> {
  if (isRight(collection.toArray)) return Promise.resolve();
  return new Promise((resolve, reject) => {
    const timer = setTimeout(() => {
      subscription.unsubscribe();
      reject(new Error(`Not in time: ${Deno.inspect(collection.toArray)}`));
    }, 10_000);
    const subscription = collection.subscribeChanges(() => {
      if (!isRight(collection.toArray)) return;
      clearTimeout(timer);
      subscription.unsubscribe();
      resolve();
    }, { includeInitialState: true });
  });
}

testOnDialects(
  "a live query of TanStack DB follows the rows of the service",
  (engine) =>
    withIssues(engine, async (service) => {
      const collection = collectionOf(service);
      const open = createLiveQueryCollection((query) =>
        query.from({ issue: collection }).where(({ issue }) => eq(issue.status, "open"))
          .orderBy(({ issue }) => issue.title)
      );
      await open.preload();
      assertEquals(open.toArray.map(({ title }) => title), ["one", "three"]);
      await service.send("PATCH", "/api/issues/2", { status: "open" }, ada);
      await service.send("DELETE", "/api/issues/1", undefined, ada);
      await untilRows(collection, (rows) =>
        rows.length === 2 && rows.every(({ status }) => status === "open"));
      assertEquals(
        open.toArray.map(({ title }) =>
          title
        ),
        ["three", "two"],
      );
      await open.cleanup();
      await collection.cleanup();
    }),
);

testOnDialects(
  "the rows of one commit are one change of a collection",
  (engine) =>
    withIssues(engine, async (service) => {
      const collection = collectionOf(service);
      await collection.preload();
      const sizes: number[] = [];
      collection.subscribeChanges(() => sizes.push(collection.size));
      const items = Array.from(
        { length: 50 },
        (_, n) => ({ id: n + 10, title: "x", status: "new" }),
      );
      await service.send("POST", "/api/issues/batch", { items }, ada);
      await untilRows(collection, (rows) => rows.length === 53);
      assertEquals(sizes, [53]);
      await collection.cleanup();
    }),
);

testOnDialects(
  "writes are shown at once, and stay until the stream has them",
  (engine) =>
    withIssues(engine, async (service) => {
      const collection = collectionOf(service);
      await collection.preload();
      const titles = titlesOf(collection, 1);
      const created = titlesOf(collection, 9);
      const gone = titlesOf(collection, 2);
      const update = collection.update(1, (row) => void (row.title = "mine"));
      const insert = collection.insert({ id: 9, title: "new", status: "open" });
      const removal = collection.delete(2);
      assertEquals([titles, created, gone], [["mine"], ["new"], [null]]);
      await Promise.all([update, insert, removal].map(({ isPersisted }) => isPersisted.promise));
      assertEquals(collection.get(1)?.title, "mine");
      assertEquals([titles, created, gone], [["mine"], ["new"], [null]], "nothing has flickered");
      const { body } = await service.get("/api/issues?orderBy=id");
      assertEquals(
        collection.toArray.map(({ id, title, status }) => ({ id, title, status }))
          .sort((left, right) => left.id - right.id),
        body.items,
      );
      await collection.cleanup();
    }),
);

testOnDialects(
  "a write that is refused is taken back, with the error of the service",
  (engine) =>
    withIssues(engine, async (service) => {
      const collection = collectionOf(service);
      await collection.preload();
      const titles = titlesOf(collection, 1);
      const update = collection.update(1, (row) => void (row.title = "x".repeat(21)));
      const error = await assertRejects(() => update.isPersisted.promise, ServiceError);
      assertEquals([error.status, titles], [422, ["x".repeat(21), "one"]]);
      // Two rows of one transaction, of which one is there already.
      const insert = collection.insert([
        { id: 20, title: "twenty", status: "open" },
        { id: 21, title: "x".repeat(21), status: "open" },
      ]);
      await assertRejects(() => insert.isPersisted.promise, ServiceError);
      await untilRows(collection, (rows) => rows.length === 4);
      assertEquals(collection.has(20), true, "what the service has is shown");
      await collection.cleanup();
    }),
);

testOnDialects(
  "updates of a row that follow each other at once are no conflicts",
  (engine) =>
    withIssues(engine, async (service) => {
      const collection = collectionOf(service);
      await collection.preload();
      const updates = [1, 2, 1, 3].map((n) =>
        collection.update(1, (row) => void (row.title = `title ${n}`))
      );
      await Promise.all(updates.map(({ isPersisted }) => isPersisted.promise));
      assertEquals(collection.get(1)?.title, "title 3");
      await collection.cleanup();
    }),
);

testOnDialects(
  "an update of a row that another has changed is a conflict",
  (engine) =>
    withIssues(engine, async (service) => {
      const { passed, open } = gate();
      const collection = collectionOf(service, undefined, passed);
      await collection.preload();
      const late = collection.update(3, (row) => void (row.title = "mine"));
      const after = collection.update(3, (row) => void (row.title = "mine again"));
      await service.send("PATCH", "/api/issues/3", { title: "theirs" }, ada);
      open();
      await assertRejects(() => late.isPersisted.promise, ConflictError);
      await assertRejects(() => after.isPersisted.promise, ConflictError);
      await untilRows(collection, () => collection.get(3)?.title === "theirs");
      assertEquals((await service.get("/api/issues/3")).body.title, "theirs");
      await collection.cleanup();
    }),
);

testOnDialects(
  "a row that the filter has no place for leaves when the service has it",
  (engine) =>
    withIssues(engine, async (service) => {
      const collection = collectionOf(service, "status==open");
      await collection.preload();
      const insert = collection.insert({ id: 9, title: "new", status: "done" });
      const update = collection.update(1, (row) => void (row.status = "done"));
      assertEquals(collection.has(9), true);
      await Promise.all([insert, update].map(({ isPersisted }) => isPersisted.promise));
      assertEquals(collection.toArray.map(({ id }) => id), [3]);
      await collection.cleanup();
    }),
);

testOnDialects(
  "a collection begins with its seed",
  (engine) =>
    withIssues(engine, async (service) => {
      const api = clientOf(service);
      const seed = await prefetch(api.issues);
      await service.send("DELETE", "/api/issues/3", undefined, ada);
      const collection = createCollection(
        liveCollectionOptions(api.issues, { seed, getKey: ({ id }) => id }),
      );
      collection.startSyncImmediate();
      assertEquals([collection.status, collection.size], ["ready", 3]);
      await untilRows(collection, (rows) => rows.length === 2);
      await collection.cleanup();
    }),
);

testOnDialects("a collection that begins again is never empty in between", async (engine) => {
  let seed: LiveSeed | undefined;
  await withIssues(engine, async (service) => {
    seed = await prefetch(clientOf(service).issues);
  });
  // The log of another service has no place for the position of the seed.
  await withIssues(engine, async (service) => {
    await service.send("DELETE", "/api/issues/3", undefined, ada);
    await service.send("PATCH", "/api/issues/2", { title: "new" }, ada);
    const collection = createCollection({
      ...liveCollectionOptions(clientOf(service).issues, { seed, getKey: ({ id }) => id }),
      gcTime: 0,
    });
    const sizes: number[] = [];
    collection.subscribeChanges(() => sizes.push(collection.size), { includeInitialState: true });
    await untilRows(collection, () => collection.get(2)?.title === "new");
    assertEquals([sizes, collection.has(3)], [[3, 2], false]);
    await collection.cleanup();
  });
});

testOnDialects(
  "a collection of a query that the service refuses is in error",
  (engine) =>
    withIssues(engine, async (service) => {
      const collection = collectionOf(service, "nothing==1");
      await assertRejects(() => collection.preload(), ServiceError);
      assertEquals(collection.status, "error");
      await collection.cleanup();
    }),
);
