/**
 * The types of single options, for programs that build a configuration in parts.
 *
 * @example
 * ```ts
 * import type { CorsOptions, PaginationOptions } from "@svc/resource-api/options";
 *
 * const cors: CorsOptions = { origin: ["https://example.com"], credentials: true };
 * const pagination: PaginationOptions = { defaultLimit: 50, maxLimit: 200 };
 * ```
 *
 * @module
 */
export type { AuthOptions, SubscribeOptions } from "../src/app/config.ts";
export type { ListenOptions } from "../src/listen/listener.ts";
export type { OpenDatabaseOptions } from "../src/engines/open_driver.ts";
export type { PostgresServers } from "../src/engines/server_url.ts";
export type { DriverOptions, SqliteAdditions, SqliteOptions } from "../src/db/driver_options.ts";
export type { ChangesOptions } from "../src/db/changes/changes_options.ts";
export type {
  AutoRelationOptions,
  BatchOptions,
  Capabilities,
  ColumnReferenceOf,
  EtagOptions,
  FieldFunction,
  FieldList,
  FieldOptions,
  HistoryOptions,
  ImportLimits,
  PaginationOptions,
  RelationOptions,
  SearchFieldOptions,
  SearchOptions,
  SoftDeleteOptions,
} from "../src/resource/model/resource_options.ts";
export type { ProcedureOptions } from "../src/resource/model/procedure.ts";
export type {
  JsonSchemaWriter,
  JsonSchemaWriterOptions,
  SchemaInput,
  SchemaIssue,
  SchemaOutput,
  SchemaResult,
  StandardSchema,
} from "../src/schema/standard_schema.ts";
export type {
  AuthorizeDashboard,
  DashboardOptions,
  DashboardRoles,
} from "../src/service/dashboard/dashboard_options.ts";
export type { RequestLogOptions } from "../src/service/request_log/request_log_options.ts";
export type { WebOptions } from "../src/service/web/web_options.ts";
export type { McpOptions } from "../src/mcp/mcp_options.ts";
export type { OpenapiInfo, OpenapiOptions } from "../src/openapi/openapi_options.ts";
export type { DocumentInfo, DocumentServer } from "../src/openapi/openapi_input.ts";
export type { AbuseProtectionOptions } from "../src/guard/abuse_protection_options.ts";
export type {
  BudgetClassOptions,
  BudgetOptions,
  Classify,
} from "../src/guard/budget/budget_options.ts";
export type { Trust, TrustQuestion } from "../src/guard/pow/difficulty.ts";
export type { PowOptions } from "../src/guard/pow/pow_options.ts";
export type {
  CaptchaGateOptions,
  CostOptions,
  GuardedKind,
  PowGateOptions,
  ProtectionOptions,
  RateLimitOptions,
} from "../src/guard/resource_protection_options.ts";
export type { NewValues, RowId, StoredRowContext } from "../src/resource/model/hooks.ts";
export type { ResourceSummary } from "../src/resource/routes/resource_summary.ts";
export type {
  Access,
  PublicOptions,
  PublicScopeFunction,
  ScopeFunction,
  ScopeOptions,
  ScopeResult,
  ScopeText,
} from "../src/auth/authorize.ts";
export type { ProblemOptions } from "../src/problem/problem.ts";
export type { IdempotencyOptions } from "../src/idempotency/idempotency_options.ts";
export type { CorsOptions } from "../src/service/cors.ts";
export type { SecurityHeaders } from "../src/service/responder.ts";
export type {
  AnyApi,
  AnyApiResource,
  CodeApi,
  CodeApiFunctions,
  CodeBatches,
  CodeCalls,
  CodeTransaction,
  TableApiResource,
} from "../src/resource/model/code_api.ts";
export type { CodeConditionalOptions, CodeFilter } from "../src/resource/model/code_api.ts";
export type { CallsFromCode } from "../src/resource/code/calls_from_code.ts";
export type { ImportsFromCode, ImportSource } from "../src/resource/code/import_as_system.ts";
export type { ImportFileOptions, ImportOutcome } from "../src/api/imports.ts";
export type { ApiOfApp } from "../src/app/infer_api.ts";
export type { TypedDefinition } from "../src/resource/define/resource_definition.ts";
export type { OptionTypes, ResourceTypes } from "../src/resource/model/resource_types.ts";
