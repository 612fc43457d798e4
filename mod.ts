/**
 * Turns database tables into a complete HTTP API. `serve()` listens, `createApp()` gives a `fetch`.
 *
 * @example
 * ```ts
 * import { all, createApp, integer, openDatabase, resource, table, text } from "@svc/resource-api";
 *
 * const notes = table("notes", { id: integer().primaryKey(), title: text().notNull() });
 * const db = await openDatabase("sqlite::memory:");
 * await db.createTables([notes]);
 * const app = await createApp({
 *   db,
 *   secret: "sixteen or more characters",
 *   resources: [
 *     resource(notes, { id: notes.id, auth: { public: { read: true }, create: () => all() } }),
 *   ],
 * });
 * const answer = await app.fetch(new Request("http://localhost/api/notes"));
 * console.log(await answer.json()); // { items: [], nextCursor: null, hasMore: false }
 * await app.close();
 * ```
 *
 * @module
 */
export { type App, createApp, type RequestInfo } from "./src/app.ts";
export type { AppConfig, AuthOptions, ServiceConfig } from "./src/config.ts";
export { serve } from "./src/serve.ts";
