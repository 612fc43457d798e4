import { assertEquals } from "@std/assert";
import {
  all,
  createApp,
  date,
  decimal,
  integer,
  openDatabase,
  resource,
  table,
  text,
  timestamp,
} from "../../../mod.ts";
import { type Client, createClient, createOutbox, liveList } from "../../../exports/client.ts";
import { fastEnvironment } from "../support/fast_environment.ts";
import { eventually } from "../support/posts_page.ts";
import { until } from "../support/until.ts";

const authors = table("authors", { id: integer().primaryKey(), name: text().notNull() });

const items = table("items", {
  id: integer().primaryKey(),
  title: text().notNull(),
  n: integer().notNull().default(0),
  price: decimal({ precision: 10, scale: 2 }).notNull().default("1.50"),
  status: text({ enum: ["todo", "done"] }).notNull().default("todo"),
  due: date(),
  at: timestamp(),
  secret: text().notNull().default("hidden"),
  authorId: integer().references(() => authors.id),
});

const comments = table("comments", {
  id: integer().primaryKey(),
  itemId: integer().notNull().references(() => items.id),
});

/** All columns except the secret. */
const shownColumns = [
  ...[items.id, items.title, items.n, items.price, items.status, items.due, items.at],
  items.authorId,
];

interface Item {
  readonly id: number;
  readonly title: string;
  readonly n: number;
  readonly price: string;
  readonly status: string;
  readonly due: string | null;
  readonly at: string | null;
  readonly authorId: number | null;
  readonly total: number;
}

interface Api {
  items: {
    path: "/api/items";
    key: number;
    row: Item;
    create: Partial<Item>;
    update: Partial<Item>;
    relations: { comments: object[]; author: object | null };
    etag: true;
    procedures: Record<never, never>;
  };
}

interface Page {
  readonly api: Client<Api>;
  /** `streams` is the number of streams that were opened. */
  readonly network: { isOnline: boolean; streams: number };
}

/** Runs `work` in a page of a service. Writes wait while `isOnline` is false. */
async function withItems(work: (page: Page) => Promise<void>): Promise<void> {
  const db = await openDatabase("sqlite::memory:");
  await db.createTables([authors, items, comments]);
  const auth = { public: true, create: () => all(), update: () => all() } as const;
  const app = await createApp({
    ...{ db, secret: "a secret for the tests only", idempotency: { storage: "db" } },
    auth: {
      middleware: async (context, next) => {
        context.set("user", { id: "ada" });
        await next();
      },
    },
    resources: [
      resource(authors, { id: authors.id, auth }),
      resource(comments, { id: comments.id, auth }),
      resource(items, {
        ...{ id: items.id, auth, etag: {} },
        fields: { readable: shownColumns },
        computed: { total: (row) => Number(row.n) * 2 },
        hooks: {
          onBeforeCreate: (_context, data) =>
            data.title === "finished" ? { ...data, status: "done" } : data,
        },
        relations: {
          comments: { type: "hasMany", resource: comments, foreignKey: comments.itemId },
          author: { type: "belongsTo", resource: authors, foreignKey: items.authorId },
        },
      }),
    ],
  });
  const network = { isOnline: true, streams: 0 };
  let streams = 0;
  const api = createClient<Api>({
    baseUrl: "http://test",
    environment: { ...fastEnvironment(20), isOnline: () => network.isOnline },
    fetch(request) {
      if (request.url.endsWith("/live")) {
        streams++;
        network.streams++;
        request.signal.addEventListener("abort", () => streams--);
      }
      return app.fetch(request);
    },
  });
  try {
    await work({ api, network });
    await eventually(() => streams === 0, () => `${streams} streams`);
  } finally {
    await app.close();
    await db.close();
  }
}

Deno.test("a row that the service has not created yet lacked its defaults", () =>
  withItems(async ({ api, network }) => {
    const list = liveList(api.items, { include: ["comments", "author"] });
    const end = list.subscribe(() => {});
    await until(list, ({ status }) => status === "live");
    network.isOnline = false;
    const outbox = createOutbox(api, {
      identity: "",
      computed: (row, resource) => resource === "/api/items" ? { total: Number(row.n) * 2 } : {},
    });
    const created = outbox.create(api.items, { title: "a" });
    const { _new, _pending, ...row } = list.get().items[0] ?? {};
    assertEquals<unknown>(row, {
      ...{ title: "a", n: 0, price: "1.50", status: "todo", due: null, at: null, authorId: null },
      ...{ comments: [], author: null, total: 0 },
    });
    outbox.update(api.items, created, { n: 4 });
    assertEquals(list.get().items[0]?.total, 8, "the values follow a change");
    network.isOnline = true;
    outbox.create(api.items, { title: "b" });
    const { items } = await until(list, ({ pending }) => pending === 0);
    const { id: _id, _etag, ...confirmed } = items.find(({ title }) => title === "a") ?? {};
    assertEquals<unknown>(confirmed, { ...row, n: 4, total: 8 });
    outbox.close();
    end();
  }));

Deno.test("a filtered list did not show a new row before the service had created it", () =>
  withItems(async ({ api, network }) => {
    const filters = [
      "status==todo;n<3",
      "status==done",
      "id>0;title=icontains=A",
      "n>=0,id<0",
    ];
    const lists = filters.map((filter) => liveList(api.items, { filter, orderBy: ["title"] }));
    const ends = lists.map((list) => list.subscribe(() => {}));
    for (const list of lists) await until(list, ({ status }) => status === "live");
    network.isOnline = false;
    const outbox = createOutbox(api, { identity: "" });
    const created = outbox.create(api.items, { title: "a" });
    outbox.create(api.items, { title: "b", status: "done" });
    const titles = () => lists.map((list) => list.get().items.map(({ title }) => title).join());
    const counts = () => lists.map((list) => list.get().pending);
    // The code that evaluates filters is loaded for the first row.
    await eventually(() => titles()[0] === "a", () => titles());
    assertEquals([titles(), counts()], [["a", "b", "", "a,b"], [1, 1, 0, 2]]);
    outbox.update(api.items, created, { status: "done" });
    assertEquals([titles(), counts()], [["", "a,b", "", "a,b"], [0, 3, 0, 3]]);
    const shown: string[] = [];
    const end = lists[1]?.subscribe(({ items }) =>
      shown.push(items.map((row) => row.title).join())
    );
    network.isOnline = true;
    outbox.create(api.items, { title: "c" });
    await until(outbox, ({ jobs }) => jobs.length === 0);
    for (const list of lists) await until(list, ({ pending }) => pending === 0);
    await eventually(() => `${titles()}` === "c,a,b,a,a,b,c", () => titles());
    assertEquals([...new Set(shown)], ["a,b"], "the rows never left the list");
    network.isOnline = false;
    outbox.update(api.items, lists[0]?.get().items[0]?.id ?? 0, { n: 7 });
    assertEquals(titles()[0], "", "a changed row leaves the list that it no longer belongs to");
    outbox.close();
    end?.();
    ends.forEach((close) => close());
  }));

Deno.test("a list waited for a row that the service had changed so that its filter does not hold", () =>
  withItems(async ({ api, network }) => {
    const list = liveList(api.items, { filter: "status==todo" });
    const shown: number[] = [];
    const end = list.subscribe(({ items }) => shown.push(items.length));
    await until(list, ({ status }) => status === "live");
    const outbox = createOutbox(api, { identity: "" });
    const { acknowledged, done } = outbox.create(api.items, { title: "finished" });
    const streams = network.streams;
    await until(list, ({ items }) => items.length === 1);
    assertEquals((await acknowledged)?.["status"], "done");
    await done;
    await until(list, ({ items, pending }) => items.length + pending === 0);
    assertEquals([network.streams - streams, Math.max(...shown)], [0, 1]);
    outbox.close();
    end();
  }));
