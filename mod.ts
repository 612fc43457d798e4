/**
 * Turns database tables into a complete HTTP API. {@link serve} listens on a port, and
 * {@link createApp} returns an app with a `fetch` function.
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
 * const response = await app.fetch(new Request("http://localhost/api/notes"));
 * console.log(await response.json()); // { items: [], nextCursor: null, hasMore: false }
 * await app.close();
 * ```
 *
 * @module
 */
export { type App, createApp, type RequestInfo } from "./src/app/app.ts";
export type { AppConfig, ServiceConfig } from "./src/app/config.ts";
export { serve, type ServeConfig } from "./src/app/serve.ts";
export type { Server } from "./src/listen/listener.ts";
export { openDatabase } from "./src/engines/open_database.ts";
export { type Database } from "./src/db/database.ts";
export { trackMutations } from "./src/app/track_mutations.ts";
export type { DatabaseHandle } from "./src/db/database_handle.ts";
export { DatabaseError } from "./src/db/database_error.ts";
export {
  bigint,
  boolean,
  bytes,
  createdAt,
  date,
  decimal,
  integer,
  json,
  real,
  text,
  timestamp,
  updatedAt,
  uuid,
} from "./src/schema/column_builder.ts";
export { type Column, type Table, table } from "./src/schema/table.ts";
export { check, foreignKey, formerly, index, unique } from "./src/compile/table_parts.ts";
export type { ResourceOptions } from "./src/resource/model/resource_options.ts";
export { relations } from "./src/resource/define/relations.ts";
export type { InferApi } from "./src/app/infer_api.ts";
export { resource, type ResourceDefinition } from "./src/resource/define/resource_definition.ts";
export {
  type Procedure,
  procedure,
  type ProcedureContext,
} from "./src/resource/model/procedure.ts";
export type { HookContext, Hooks } from "./src/resource/model/hooks.ts";
export { type ActAsOptions, byDatabase } from "./src/auth/act_as.ts";
export type { User } from "./src/auth/authorize.ts";
export { policy } from "./src/auth/policy.ts";
export type { Filter } from "./src/filter/filter.ts";
export { andRules as and, notRule as not, orRules as or } from "./src/filter/rule.ts";
export {
  all,
  eq,
  gt,
  gte,
  has,
  hasAll,
  hasAny,
  inList,
  isNotNull,
  isNull,
  like,
  lt,
  lte,
  ne,
  none,
} from "./src/filter/builders.ts";
export { rsql } from "./src/filter/filter_text.ts";
export { Problem } from "./src/problem/problem.ts";
export type { AppEnv, Middleware } from "./src/service/middleware.ts";
