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
  readonly network: { isOnline: boolean };
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
        relations: {
          comments: { type: "hasMany", resource: comments, foreignKey: comments.itemId },
          author: { type: "belongsTo", resource: authors, foreignKey: items.authorId },
        },
      }),
    ],
  });
  const network = { isOnline: true };
  let streams = 0;
  const api = createClient<Api>({
    baseUrl: "http://test",
    environment: { ...fastEnvironment(20), isOnline: () => network.isOnline },
    fetch(request) {
      if (request.url.endsWith("/live")) {
        streams++;
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
