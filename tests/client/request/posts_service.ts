import { type Client, createClient, type CreateClientOptions } from "../../../exports/client.ts";
import { memorySearch } from "../../../exports/search.ts";
import {
  all,
  type App,
  boolean,
  decimal,
  integer,
  procedure,
  resource,
  table,
  text,
  timestamp,
} from "../../../mod.ts";
import { z } from "zod";
import type { Engine } from "../../support/engines.ts";
import { type Service, withService } from "../../support/http.ts";

const authors = table("authors", { id: integer().primaryKey(), name: text().notNull() });

const posts = table("posts", {
  id: integer().primaryKey(),
  title: text().notNull(),
  views: integer().notNull().default(0),
  price: decimal(),
  isOpen: boolean(),
  postedAt: timestamp(),
  authorId: integer(),
  version: integer().notNull().default(1),
  deletedAt: timestamp(),
});

const places = table("places", {
  country: text().notNull().primaryKey(),
  city: text().notNull().primaryKey(),
  size: integer(),
});

const words = table("words", { id: text().primaryKey(), count: integer() });

/** The service that `withPosts` runs, as its client sees it. */
export interface PostsApi {
  posts: {
    path: "/api/posts";
    key: number;
    row: Post;
    create: { title: string } & Partial<Omit<Post, "title">>;
    update: Partial<Omit<Post, "id">>;
    relations: { author: Author | null };
    etag: true;
    procedures: {
      double: { input: { n: number }; output: { n: number } };
      nothing: { input: Record<never, never>; output: { ok: boolean } };
    };
  };
  authors: {
    path: "/api/authors";
    key: number;
    row: Author;
    create: { id?: number; name: string };
    update: { name?: string };
    relations: { posts: Post[] };
    etag: false;
    procedures: Record<never, never>;
  };
  "atlas/places": {
    path: "/api/atlas/places";
    key: [string, string];
    row: Place;
    create: { country: string; city: string; size?: number | null };
    update: { size?: number | null };
    relations: Record<never, never>;
    etag: true;
    procedures: Record<never, never>;
  };
  words: {
    path: "/api/words";
    key: string;
    row: { id: string; count: number | null };
    create: { id: string; count?: number | null };
    update: { count?: number | null };
    relations: Record<never, never>;
    etag: false;
    procedures: Record<never, never>;
  };
}

/** A row of `posts`. */
export interface Post {
  id: number;
  title: string;
  views: number;
  price: string | null;
  isOpen: boolean | null;
  postedAt: string | null;
  authorId: number | null;
  version: number;
  deletedAt: string | null;
}

interface Author {
  id: number;
  name: string;
}

interface Place {
  country: string;
  city: string;
  size: number | null;
}

const open = { public: true, create: () => all(), update: () => all(), delete: () => all() };

/** Runs `work` with a client of the service, which every user may write to. */
export function withPosts(
  engine: Engine,
  work: (api: Client<PostsApi>, service: Service) => Promise<void>,
  options: (app: App) => Partial<CreateClientOptions> = () => ({}),
): Promise<void> {
  return withService(engine, [authors, posts, places, words], () => ({
    search: memorySearch(),
    resources: [
      resource(authors, {
        id: authors.id,
        auth: open,
        relations: { posts: { type: "hasMany", resource: posts, foreignKey: posts.authorId } },
      }),
      resource(posts, {
        id: posts.id,
        auth: open,
        etag: { versionField: posts.version },
        softDelete: { field: posts.deletedAt },
        relations: { author: { type: "belongsTo", resource: authors, foreignKey: posts.authorId } },
        search: { fields: [posts.title] },
        batch: { create: 7, replace: 7, update: 50, delete: 50 },
        procedures: {
          double: procedure({
            input: z.object({ n: z.number() }),
            output: z.object({ n: z.number() }),
            public: true,
            handler: (_context, { n }) => ({ n: n * 2 }),
          }),
          nothing: procedure({
            input: z.object({}),
            output: z.object({ ok: z.boolean() }),
            public: true,
            handler: () => ({ ok: true }),
          }),
        },
      }),
      resource(places, {
        id: [places.country, places.city],
        path: "atlas/places",
        auth: open,
        etag: {},
      }),
      resource(words, { id: words.id, auth: open }),
    ],
  }), (service) =>
    work(
      createClient<PostsApi>({
        baseUrl: "http://test/",
        headers: { "x-user": "ada" },
        fetch: service.app.fetch,
        ...options(service.app),
      }),
      service,
    ));
}
