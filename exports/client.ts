/**
 * The typed client of a service, for browsers, Deno, Node and Bun. {@link createClient} sends
 * requests, {@link liveList} and {@link liveAggregate} show results that follow every commit, and
 * {@link createOutbox} shows writes immediately and sends them when the service is reachable.
 *
 * @example Requests
 * ```ts
 * import {
 *   all, createApp, type InferApi, integer, openDatabase, resource, table, text,
 * } from "@svc/resource-api";
 * import { createClient, rsql } from "@svc/resource-api/client";
 *
 * const notes = table("notes", { id: integer().primaryKey(), title: text().notNull() });
 * const db = await openDatabase("sqlite::memory:");
 * await db.createTables([notes]);
 * const everyone = { public: true, create: () => all(), update: () => all() };
 * const config = { db, resources: [resource(notes, { id: notes.id, etag: {}, auth: everyone })] };
 * const app = await createApp({
 *   ...config,
 *   auth: {
 *     middleware: async (context, next) => {
 *       context.set("user", { id: "ada" });
 *       await next();
 *     },
 *   },
 * });
 *
 * const api = createClient<InferApi<typeof config>>({
 *   baseUrl: "http://localhost",
 *   fetch: (request) => app.fetch(request), // in a page: leave it out
 * });
 * const { value, etag } = await api.notes.create({ title: "Buy tea" });
 * await api.notes.update(value.id, { title: "Buy green tea" }, { ifMatch: etag });
 * const { items } = await api.notes.list({ filter: rsql`title==${"Buy green tea"}`, limit: 10 });
 * console.log(items.length); // 1
 * await app.close();
 * ```
 *
 * @example Rows that follow every commit, and writes that the page shows immediately
 * ```ts ignore
 * const open = liveList(api.notes, { filter: rsql`status==${"open"}`, orderBy: ["-id"] });
 * const close = open.subscribe(({ items, status }) => console.log(status, items.length));
 *
 * const outbox = createOutbox(api, { identity: user.id });
 * const { done } = outbox.update(api.notes, 1, { title: "Buy green tea" });
 * await done; // resolves when the list shows the row of the response
 * close();
 * ```
 *
 * @module
 */
export { createClient } from "../src/client/request/create_client.ts";
export type {
  ClientPow,
  CreateClientOptions,
  PowSolver,
  TokenSource,
} from "../src/client/request/client_options.ts";
export {
  ConflictError,
  type RequiredCaptcha,
  ServiceError,
  type ServiceErrorFacts,
  type ServiceErrorSlug,
} from "../src/client/request/service_error.ts";
export {
  type FilterExpression,
  type FilterOperand,
  filterTemplate as rsql,
  type MarkedNumber,
} from "../src/client/request/rsql.ts";
export { type Handle, handle, type HasHandle } from "../src/api/handle.ts";
export type { Bearer, ClientRequest, RequestHeaders, Transport } from "../src/api/transport.ts";
export { browserEnvironment } from "../src/client/environment.ts";
export {
  type ClientEnvironment,
  type PageEnvironment,
  type RequestEnvironment,
} from "../src/api/client_environment.ts";
export type { ApiOperation, ApiResource } from "../src/api/rows.ts";
export type {
  AggregateRequests,
  ApiOf,
  BatchRequests,
  Client,
  CreateBatches,
  CreateRequests,
  DeleteBatches,
  DeleteRequests,
  ProceduresOf,
  ReadCalls,
  ReadRequests,
  ResourceClient,
  RestoreRequests,
  RowsRequest,
  RowVersion,
  SearchRequests,
  UpdateBatches,
  UpdateRequests,
  UpsertBatches,
} from "../src/api/resource_client.ts";
export type {
  FieldOf,
  IncludeOf,
  Page,
  PathOf,
  RelationOf,
  RowOf,
  Tagged,
  TargetOf,
} from "../src/api/rows.ts";
export type { FilterInput, FilterOf, IncludeItemOf, Offers } from "../src/api/checked_text.ts";
export type {
  FieldsQuery,
  GetOptions,
  ListNotString,
  ListOptions,
  OptionsWith,
  OrderFieldOf,
  OrderInput,
  RequestOptions,
  RowOptions,
  RowsQuery,
} from "../src/api/read_options.ts";
export { type ExportOptions, exportUrl } from "../src/client/request/export_url.ts";
export { revertRow, rowHistory } from "../src/client/request/row_history.ts";
export {
  type FileImportOptions,
  ImportError,
  importFile,
} from "../src/client/request/import_file.ts";
export type {
  AcceptingOption,
  ImportReport,
  LineError,
  LineRange,
  RecordFault,
} from "../src/api/imports.ts";
export { liveAggregate, type LiveAggregateState } from "../src/client/live/list_source.ts";
export {
  type LiveList,
  liveList,
  type LiveListOptions,
  type LiveListQuery,
} from "../src/client/live/list_source.ts";
export type { LiveListState, LiveMarks, NewRow } from "../src/client/live/live_list_state.ts";
export type {
  FieldType,
  FieldTypes,
  LiveRow,
  LiveRowId,
  LiveSeed,
  LiveStatus,
  RowDescription,
} from "../src/client/live/live_messages.ts";
export { prefetch } from "../src/client/live/list_source.ts";
export { reconnect } from "../src/client/live/reconnect.ts";
export type { Store } from "../src/client/live/store.ts";
export {
  type Auth,
  type AuthState,
  type AuthUser,
  createAuth,
  type CreateAuthOptions,
  type Login,
} from "../src/client/auth/create_auth.ts";
export { shareTabs, type ShareTabsOptions } from "../src/client/tabs/share_tabs.ts";
export type {
  AggregateOptions,
  GroupFieldOf,
  GroupOf,
  Groups,
  NumericOf,
} from "../src/api/aggregates.ts";
export type { SearchInput, SearchResult } from "../src/api/search.ts";
export type {
  BatchItem,
  ConditionalItem,
  ConditionalOptions,
  Conflict,
  ImportOptionsOf,
  ReplaceBody,
  RowWriteOptions,
  TagOf,
  UniqueKeyOption,
  UpdateOptionsOf,
  WriteRequestOptions,
} from "../src/api/resource_client.ts";
export type { HookOptions, HookQuery } from "../src/client/bindings/component_query.ts";
export { createOutbox } from "../src/client/outbox/create_outbox.ts";
export type { ConflictOf, JobConflict, OnConflict } from "../src/client/outbox/resolve_conflict.ts";
export type { Job, JobProblem, JobRow, JobStorage, NewJob } from "../src/client/outbox/job.ts";
export type { OutboxState } from "../src/client/outbox/job_view.ts";
export { memoryStorage } from "../src/client/outbox/memory_storage.ts";
export type {
  Outbox,
  OutboxOptions,
  OutboxWriteOptions,
  Target,
  WithTag,
  Write,
} from "../src/client/outbox/outbox.ts";
