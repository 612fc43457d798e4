/**
 * The typed client of a service, for browsers, Deno, Node and Bun.
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
export { type ClientEnvironment } from "../src/api/client_environment.ts";
export type { ApiOperation, ApiResource, Has } from "../src/api/api.ts";
export type {
  AggregateRequests,
  ApiOf,
  BatchRequests,
  Client,
  CreateBatches,
  CreateRequests,
  DeleteBatches,
  DeleteRequests,
  IsWritten,
  OnlyWhere,
  ProcedureOf,
  ProceduresOf,
  ReadRequests,
  ResourceClient,
  RestoreRequests,
  SearchRequests,
  UpdateBatches,
  UpdateRequests,
  UpsertBatches,
} from "../src/api/resource_client.ts";
export type {
  FieldOf,
  FurtherFields,
  IncludedFields,
  IncludedRow,
  IncludedRows,
  IncludeOf,
  Page,
  RelationName,
  RelationOf,
  RowOf,
  SelectedRow,
  Tagged,
} from "../src/api/rows.ts";
export type {
  FilterInput,
  GetOptions,
  ListOptions,
  OrderInput,
  RequestOptions,
  RowOptions,
} from "../src/api/read_options.ts";
export { liveAggregate, type LiveAggregateState } from "../src/client/live/live_aggregate.ts";
export {
  type LiveList,
  liveList,
  type LiveListOptions,
  type LiveListQuery,
} from "../src/client/live/live_list.ts";
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
export { prefetch } from "../src/client/live/prefetch.ts";
export { reconnect } from "../src/client/live/reconnect.ts";
export type { Store } from "../src/client/live/store.ts";
export { shareTabs, type ShareTabsOptions } from "../src/client/tabs/share_tabs.ts";
export type {
  AggregateOptions,
  CountOfGroup,
  GroupOf,
  Groups,
  MetricOfGroup,
  MetricResults,
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
} from "../src/api/write_options.ts";
export { createOutbox } from "../src/client/outbox/create_outbox.ts";
export type { JobConflict, OnConflict } from "../src/client/outbox/conflict.ts";
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
