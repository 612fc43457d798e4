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
export type { AppConfig, AuthOptions, ServiceConfig, SubscribeOptions } from "./src/config.ts";
export { serve, type ServeConfig } from "./src/serve.ts";
export type { ListenOptions, Server } from "./src/listener.ts";

export { type Database, openDatabase, type OpenDatabaseOptions } from "./src/db/open_database.ts";
export { trackMutations } from "./src/track_mutations.ts";
export type { ChangesOptions } from "./src/db/changes/changes_options.ts";
export type { DatabaseHandle } from "./src/db/database_handle.ts";
export type { SqlResult, SqlStatement, SqlTag } from "./src/db/template/sql_statement.ts";
export type {
  Connection,
  Driver,
  QueryResult,
  ResultColumn,
  SignalChannel,
  Signals,
} from "./src/db/driver.ts";
export { DatabaseError, type DatabaseErrorKind } from "./src/db/database_error.ts";
export type { Introspection, IntrospectOptions, LeftOut } from "./src/db/introspection.ts";

export {
  bigint,
  boolean,
  bytes,
  ColumnBuilder,
  type ColumnDeclaration,
  date,
  decimal,
  integer,
  json,
  type NewColumn,
  type NewIntegerColumn,
  real,
  text,
  timestamp,
  uuid,
} from "./src/schema/column_builder.ts";
export {
  type Column,
  type ColumnBuilders,
  type ColumnTypes,
  type InsertRow,
  type IsOptional,
  type SelectRow,
  type SelectValue,
  type Table,
  table,
} from "./src/schema/table.ts";
export {
  columnInfoKey,
  type ColumnLike,
  tableInfoKey,
  type TableLike,
} from "./src/schema/table_like.ts";
export type {
  ColumnDefault,
  ColumnInfo,
  ColumnReference,
  ForeignKey,
  Row,
  TableInfo,
  TimestampFormat,
} from "./src/schema/table_info.ts";
export type { ColumnKind, ValueRules } from "./src/schema/kind.ts";

export type {
  AnyColumn,
  BatchOptions,
  Capabilities,
  ColumnReferenceOf,
  EtagOptions,
  FieldOptions,
  PaginationOptions,
  RelationOptions,
  ResourceOptions,
  SoftDeleteOptions,
} from "./src/resource/define/resource_options.ts";
export { resource, type ResourceDefinition } from "./src/resource/define/resource_definition.ts";
export {
  type Procedure,
  procedure,
  type ProcedureContext,
  type ProcedureOptions,
} from "./src/resource/define/procedure.ts";
export type {
  SchemaInput,
  SchemaIssue,
  SchemaOutput,
  SchemaResult,
  StandardSchema,
} from "./src/resource/define/standard_schema.ts";
export type { AbuseProtectionOptions } from "./src/guard/abuse_protection_options.ts";
export type {
  BudgetClassOptions,
  BudgetOptions,
  Classify,
} from "./src/guard/budget/budget_options.ts";
export type { Trust, TrustQuestion } from "./src/guard/pow/difficulty.ts";
export type { PowOptions } from "./src/guard/pow/pow_options.ts";
export type {
  CaptchaGateOptions,
  CostOptions,
  GuardedKind,
  PowGateOptions,
  ProtectionOptions,
  RateLimitOptions,
} from "./src/guard/resource_protection_options.ts";
export type { HookContext, Hooks, RowId } from "./src/resource/define/hooks.ts";
export type { ResourceSummary } from "./src/resource/define/resource_summary.ts";
export type {
  Access,
  ScopeFunction,
  ScopeOptions,
  ScopeResult,
  ScopeText,
} from "./src/auth/scope.ts";
export type { User } from "./src/auth/user.ts";

export type { Relation, RelationStep } from "./src/schema/relation.ts";
export { and, type Comparison, type Filter, or, type Related } from "./src/filter/filter.ts";
export {
  all,
  eq,
  type FilterText,
  type FilterValue,
  gt,
  gte,
  inList,
  isNotNull,
  isNull,
  like,
  lt,
  lte,
  ne,
  none,
  rsql,
} from "./src/filter/builders.ts";
export type { Operator, OperatorTakes } from "./src/filter/operators/operator.ts";
export type { CustomOperator } from "./src/filter/operators/operator_registry.ts";
export {
  type Fragment,
  fragmentBrand,
  sql,
  type SqlValue,
  type Statement,
} from "./src/sql/fragment.ts";
export type {
  CellClass,
  CertifiedOperators,
  ComparesAsMemory,
  Dialect,
  Engine,
  ImageDialect,
  ListNames,
  MetricDialect,
  RowEstimate,
  RowImages,
  RowsOfKeys,
  TextDialect,
} from "./src/sql/dialect.ts";

export { Problem, type ProblemOptions } from "./src/problem/problem.ts";
export type { ProblemBody, problemCodes, ProblemSlug } from "./src/protocol/problem_codes.ts";
export type { Clock, Random, Runtime } from "./src/runtime/runtime.ts";
export type { MaybePromise } from "./src/runtime/maybe_promise.ts";
export type {
  KeyValue,
  KeyValueCheck,
  KeyValueCommit,
  KeyValueCommitResult,
  KeyValueEntry,
  KeyValueKey,
  KeyValueKeyPart,
  KeyValueMutation,
  KeyValuePage,
} from "./src/kv/key_value.ts";
export type {
  DenoKv,
  DenoKvAtomic,
  DenoKvEntry,
  DenoKvListOptions,
  DenoKvSelector,
} from "./src/kv/deno_kv.ts";
export type { KeyValueOption } from "./src/kv/open_key_value_store.ts";
export { StoreError, type StoreErrorKind } from "./src/kv/store_error.ts";
export type { Observation, Observer, PowRefusal } from "./src/runtime/observation.ts";
export type { Middleware, MiddlewareContext, Router } from "./src/service/middleware.ts";
export type { CaptchaOptions } from "./src/guard/captcha/captcha_options.ts";
export type {
  CaptchaAnswer,
  CaptchaQuestion,
  CaptchaVerifier,
} from "./src/guard/captcha/captcha_verifier.ts";
export { hcaptcha } from "./src/guard/captcha/hcaptcha.ts";
export type { IdempotencyOptions } from "./src/idempotency/idempotency_options.ts";
export { recaptcha, type RecaptchaOptions } from "./src/guard/captcha/recaptcha.ts";
export type { SiteVerifyOptions } from "./src/guard/captcha/siteverify_protocol.ts";
export { turnstile } from "./src/guard/captcha/turnstile.ts";
export type { CorsOptions } from "./src/service/cors.ts";
export type { SecurityHeaders } from "./src/service/responder.ts";
