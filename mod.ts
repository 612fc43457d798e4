/**
 * Turns database tables into a complete HTTP API. {@link serve} listens, {@link createApp} gives a
 * `fetch`.
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
export { type Database, openDatabase, type OpenDatabaseOptions } from "./src/db/open_database.ts";
export {
  bigint,
  boolean,
  bytes,
  date,
  decimal,
  integer,
  json,
  real,
  text,
  timestamp,
  uuid,
} from "./src/schema/column_builder.ts";
export {
  type Column,
  type ColumnLike,
  type Table,
  table,
  type TableLike,
} from "./src/schema/define.ts";
export type { ColumnInfo, ColumnKind, Row, TableInfo } from "./src/schema/table_info.ts";
export {
  type Capabilities,
  type ColumnReferenceOf,
  type FieldOptions,
  type PaginationOptions,
  resource,
  type ResourceDefinition,
  type ResourceOptions,
} from "./src/resource/definition.ts";
export type { ResourceSummary } from "./src/resource/describe.ts";
export type { Access, ScopeFunction, ScopeOptions, ScopeResult } from "./src/auth/scope.ts";
export type { User } from "./src/auth/user.ts";
export { and, type Filter, or } from "./src/filter/filter.ts";
export {
  all,
  eq,
  type FilterText,
  type FilterValue,
  gt,
  gte,
  inList,
  isNull,
  like,
  lt,
  lte,
  ne,
  none,
  rsql,
} from "./src/filter/builders.ts";
export type { CustomOperator } from "./src/filter/operators.ts";
export { Problem, type ProblemOptions } from "./src/problem/problem.ts";
export type { ProblemBody, ProblemSlug } from "./src/protocol/problem_codes.ts";
export type { Clock, Random, Runtime } from "./src/runtime/runtime.ts";
export type { Observation, Observer } from "./src/runtime/observation.ts";
export type { Middleware, MiddlewareContext, Router } from "./src/service/middleware.ts";
export type { CorsOptions } from "./src/service/cors.ts";
export type { SecurityHeaders } from "./src/service/respond.ts";
