import {
  all,
  type App,
  boolean,
  createApp,
  type Database,
  decimal,
  eq,
  integer,
  json,
  none,
  or,
  Problem,
  procedure,
  real,
  resource,
  table,
  text,
  timestamp,
  type User,
} from "../../mod.ts";
import type { StandardSchema } from "../../exports/options.ts";
import { memorySearch } from "../../exports/search.ts";
import { uuid } from "../../mod.ts";
import { systemRuntime } from "../../src/runtime/system_runtime.ts";
import { handClock } from "../db/hand_clock.ts";

export const authors = table("authors", {
  id: integer().primaryKey(),
  name: text().notNull(),
  published: boolean().notNull().default(true),
  secret: text(),
});
export const books = table("books", {
  id: integer().primaryKey(),
  title: text({ maxLength: 30 }).notNull(),
  isbn: text().unique(),
  price: decimal({ precision: 8, scale: 2 }),
  pages: integer({ min: 1, max: 5000 }),
  weight: real(),
  inPrint: boolean().notNull().default(true).as("in_print"),
  publishedAt: timestamp().as("published_at"),
  data: json<unknown>(),
  state: text({ enum: ["draft", "open", "closed"] }).notNull().default("draft"),
  ownerId: text().notNull().as("owner_id"),
  authorId: integer().as("author_id").references(() => authors.id),
  cost: integer(),
  secret: text(),
  version: integer().notNull().default(1),
  deletedAt: timestamp().as("deleted_at"),
});
export const labels = table("labels", { name: text().primaryKey(), color: text() });
export const bookLabels = table("book_labels", {
  bookId: integer().primaryKey().as("book_id").references(() => books.id),
  label: text().primaryKey().references(() => labels.name),
});
export const stock = table("stock", {
  store: text().primaryKey(),
  sku: integer().primaryKey(),
  count: integer().notNull(),
  note: text(),
});
export const trail = table("trail", {
  id: uuid().primaryKey(),
  what: text().notNull(),
  by: text(),
});

export const tables = [authors, books, labels, bookLabels, stock, trail];

/** Who calls in the tests: null is an anonymous caller. */
export const users: readonly (User | null)[] = [
  null,
  { id: "ada", roles: ["writer"] },
  { id: "bob", roles: [] },
  { id: "root", roles: ["admin"] },
];

const isAdmin = (user: User | null) => user?.roles?.includes("admin") === true;

const ofNumber: StandardSchema<{ n: number }> = {
  "~standard": {
    version: 1,
    vendor: "here",
    validate(value) {
      const { n } = Object(value);
      return typeof n === "number" ? { value: { n } } : {
        issues: [{ message: "must be a number", path: ["n"] }],
      };
    },
  },
};

/** The resources of a library, with every option that decides what a caller gets. */
function definitions() {
  const readableByAll = [
    ...[books.id, books.title, books.isbn, books.price, books.pages, books.weight, books.inPrint],
    ...[books.publishedAt, books.data, books.state, books.ownerId, books.authorId, books.version],
    books.deletedAt,
  ];
  return [
    resource(authors, {
      id: authors.id,
      fields: { readable: [authors.id, authors.name, authors.published] },
      auth: {
        public: { read: () => eq(authors.published, true) },
        read: (user) => isAdmin(user) ? all() : none(),
        create: (user) => isAdmin(user) ? all() : none(),
        update: (user) => isAdmin(user) ? all() : none(),
        delete: (user) => isAdmin(user) ? all() : none(),
      },
      relations: {
        books: { type: "hasMany", resource: books, foreignKey: books.authorId, filterable: true },
      },
      pagination: { defaultLimit: 3, maxLimit: 5 },
    }),
    resource(books, {
      id: books.id,
      auth: {
        read: (user) =>
          isAdmin(user) ? all() : or(eq(books.ownerId, user.id), eq(books.state, "open")),
        create: (user) => eq(books.ownerId, user.id),
        update: (user) => isAdmin(user) ? all() : eq(books.ownerId, user.id),
        delete: (user) => user.roles?.includes("writer") ? eq(books.ownerId, user.id) : none(),
        subscribe: () => all(),
      },
      fields: {
        readable: {
          all: [...readableByAll, books.cost],
          by: (user) => isAdmin(user) ? [...readableByAll, books.cost] : readableByAll,
        },
        writable: [
          ...[books.title, books.isbn, books.price, books.pages, books.weight, books.inPrint],
          ...[books.publishedAt, books.data, books.state, books.authorId, books.cost],
        ],
        immutable: [books.isbn],
        filterable: [...readableByAll.filter((column) => column !== books.weight)],
      },
      generatedFields: [books.ownerId],
      computed: { label: (row) => `${row.title} (${row.pages ?? "?"})` },
      etag: { versionField: books.version },
      softDelete: { field: books.deletedAt },
      relations: {
        author: {
          ...{ type: "belongsTo", resource: authors, foreignKey: books.authorId },
          filterable: true,
        },
        labels: {
          ...{ type: "manyToMany", resource: labels, through: bookLabels },
          ...{ foreignKey: bookLabels.bookId, references: bookLabels.label },
          filterable: true,
        },
      },
      nestedWrites: true,
      batch: { create: 4, update: 6, replace: 4, delete: 3 },
      search: { fields: [books.title] },
      hooks: {
        async onBeforeCreate({ api }, data) {
          if (data.title === "veto") throw new Problem("forbidden", "No such book");
          if (data.title === "crash") throw new Error("The hook crashes");
          if (data.title === "count") return { ...data, pages: await api.of(labels).count() + 1 };
          return data;
        },
        async onAfterCreate({ api, user }, { title }) {
          await api.asSystem().of(trail).create({ what: `created ${title}`, by: user?.id });
          if (title === "late") throw new Problem("conflict", "Too late");
        },
        async onBeforeUpdate({ current }, _id, patch) {
          if (patch.title === "veto") throw new Problem("forbidden", "No such title");
          if (patch.title === "again") return { ...patch, title: `${(await current()).title}!` };
          return patch;
        },
        async onAfterUpdate({ api }, { title, id }) {
          if (title === "spread") {
            const log = api.asSystem().of(trail);
            await log.create({ what: `spread ${id}` });
            // Refused within the transaction, which continues.
            await api.of(labels).create({ name: "red" }).catch(() => {});
            await api.of(labels).create({ name: `of ${id}` }).catch(() => {});
          }
        },
        async onAfterDelete({ api, user }, _id, { title }) {
          await api.asSystem().of(trail).create({ what: `deleted ${title}`, by: user?.id });
        },
      },
      procedures: {
        double: procedure({
          input: ofNumber,
          output: ofNumber,
          public: true,
          handler: (_context, { n }) => {
            if (n === 13) throw new Problem("conflict", "Not this one");
            return { n: 2 * n };
          },
        }),
        mine: procedure({
          input: ofNumber,
          output: ofNumber,
          handler: async ({ api }, { n }) => {
            const own = await api.of(books).list({ limit: n });
            return { n: own.items.length };
          },
        }),
      },
    }),
    resource(labels, {
      id: labels.name,
      auth: {
        public: { read: true },
        create: (user) => user.roles?.includes("writer") || isAdmin(user) ? all() : none(),
        update: () => all(),
        delete: (user) => isAdmin(user) ? all() : none(),
        subscribe: () => all(),
      },
      capabilities: { enableAggregations: false },
      relations: {
        books: {
          ...{ type: "manyToMany", resource: books, through: bookLabels },
          ...{ foreignKey: bookLabels.label, references: bookLabels.bookId },
        },
      },
    }),
    resource(stock, {
      id: [stock.store, stock.sku],
      auth: {
        ...{ read: () => all(), create: () => all(), update: () => all(), delete: () => all() },
        subscribe: () => all(),
      },
      strictInput: true,
      etag: { require: true, algorithm: "strong" },
      batch: { create: 3, incrementVersion: false },
    }),
    resource(trail, {
      id: trail.id,
      path: "audit/trail",
      auth: {
        read: (user) => isAdmin(user) ? all() : eq(trail.by, user.id),
        subscribe: () => all(),
      },
      capabilities: { enableCreate: false, enableUpdate: false, enableDelete: false },
      generatedFields: [trail.id],
      pagination: { defaultLimit: 5, maxLimit: 50 },
    }),
  ];
}

/** Opens the library over a database. Two of them count time and chance alike. */
export async function openLibrary(db: Database): Promise<App> {
  const { clock, advance } = handClock();
  advance(Date.UTC(2026, 0, 1));
  let drawn = 0;
  const bytes = (length: number) => {
    drawn++;
    return Uint8Array.from({ length }, (_, index) => (drawn * 31 + index * 7) % 256);
  };
  return await createApp({
    db,
    secret: "a secret for the tests only",
    resources: definitions(),
    search: memorySearch(),
    maxAnswerBytes: 1_500,
    auth: {
      middleware: async (context, next) => {
        const user = users.find((one) => one?.id === context.req.header("x-user"));
        if (user !== undefined && user !== null) context.set("user", { ...user });
        await next();
      },
    },
    runtime: { ...systemRuntime(() => {}), clock, random: { bytes }, cron: undefined },
  });
}
