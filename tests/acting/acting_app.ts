/** An app over the database of Supabase whose users have the rights of its policies. */
import {
  type App,
  type AppConfig,
  bigint,
  boolean,
  byDatabase,
  createApp,
  integer,
  openDatabase,
  resource,
  table,
  text,
  uuid,
} from "../../mod.ts";
import type { Driver } from "../../src/db/driver.ts";
import type { Database } from "../../src/db/database.ts";
import type { Observation } from "../../src/runtime/runtime.ts";
import { systemRuntime } from "../../src/runtime/system_runtime.ts";
import { claimsOf, type Supabase, uid } from "./supabase.ts";

export const profiles = table("profiles", {
  id: uuid().primaryKey(),
  username: text().unique(),
  website: text(),
});

export const todos = table("todos", {
  id: bigint().primaryKey().defaultSql("the next number"),
  userId: uuid().notNull().as("user_id").defaultSql("auth.uid()"),
  task: text(),
  isComplete: boolean().notNull().default(false).as("is_complete"),
});

export const posts = table("posts", {
  id: integer().primaryKey(),
  teamId: integer().notNull().as("team_id"),
  authorId: uuid().notNull().as("author_id").references(() => profiles.id),
  published: boolean().notNull().default(false),
  locked: boolean().notNull().default(false),
  title: text().notNull(),
  version: integer().notNull().default(1),
});

/** An answer with its JSON read. */
export interface Answer {
  readonly status: number;
  readonly headers: Headers;
  // deno-lint-ignore no-explicit-any -- a test says what it expects by asserting it
  readonly body: any;
}

export interface ActingApp extends AsyncDisposable {
  readonly app: App;
  readonly db: Database;
  readonly observations: readonly Observation[];
  /** Sends a request of the n-th user, or of an anonymous caller (null). */
  send(
    user: number | null,
    method: string,
    path: string,
    body?: unknown,
    headers?: Readonly<Record<string, string>>,
  ): Promise<Answer>;
}

/** The resources of the app, and `actAs` for the roles of a database. */
export function actingConfig(of: Pick<Supabase, "anon" | "authenticated">): Omit<AppConfig, "db"> {
  const auth = byDatabase({ anonymous: true });
  return {
    secret: "a secret for the tests only",
    resources: [
      resource(profiles, {
        id: profiles.id,
        auth,
        relations: { posts: { type: "hasMany", resource: posts, foreignKey: posts.authorId } },
        nestedWrites: true,
      }),
      resource(todos, {
        id: todos.id,
        auth,
        etag: {},
        capabilities: { enableExport: true, enableImport: true },
      }),
      resource(posts, {
        id: posts.id,
        auth,
        etag: { versionField: posts.version },
        capabilities: { enableExport: true },
        relations: {
          author: { type: "belongsTo", resource: profiles, foreignKey: posts.authorId },
        },
      }),
    ],
    actAs: {
      roles: [of.anon, of.authenticated],
      as: (user) =>
        user === null ? { role: of.anon } : {
          role: of.authenticated,
          settings: { "request.jwt.claims": claimsOf(Number(user.id.slice(-12))) },
        },
    },
  };
}

/** Opens the app. `config` replaces parts of {@link actingConfig}. */
export async function actingApp(
  of: Pick<Supabase, "anon" | "authenticated" | "url">,
  config: Partial<AppConfig> = {},
  { url = of.url, driver }: { readonly url?: string; readonly driver?: Driver } = {},
): Promise<ActingApp> {
  const observations: Observation[] = [];
  const db = await openDatabase(driver ?? url);
  try {
    const app: App = await createApp({
      ...actingConfig(of),
      auth: {
        middleware: async (context, next) => {
          const id = context.req.header("x-user");
          if (id !== undefined) context.set("user", { id: uid(Number(id)) });
          await next();
        },
      },
      runtime: { ...systemRuntime((one) => observations.push(one)), cron: undefined },
      ...config,
      db,
    });
    return {
      app,
      db,
      observations,
      async send(user, method, path, body, headers = {}) {
        const response = await app.fetch(
          new Request(`http://test/api${path}`, {
            method,
            headers: {
              ...(user === null ? {} : { "x-user": String(user) }),
              ...(body === undefined ? {} : { "content-type": "application/json" }),
              ...headers,
            },
            body: body === undefined
              ? null
              : typeof body === "string"
              ? body
              : JSON.stringify(body),
          }),
        );
        const text = await response.text();
        const isJson = /[/+]json\b/.test(response.headers.get("content-type") ?? "") && text !== "";
        return {
          status: response.status,
          headers: response.headers,
          body: isJson ? JSON.parse(text) : text,
        };
      },
      [Symbol.asyncDispose]: () => app.close(),
    };
  } catch (error) {
    await db.close();
    throw error;
  }
}
