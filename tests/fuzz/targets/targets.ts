import type { FuzzTarget } from "../engine/fuzz_target.ts";
import * as files from "./file_targets.ts";
import { filterTarget } from "./filter_target.ts";
import * as headers from "./header_targets.ts";
import * as sql from "./sql_targets.ts";
import * as tokens from "./token_targets.ts";
import * as urls from "./url_targets.ts";
import * as values from "./value_targets.ts";

/** All targets by name. */
export const targets: Readonly<Record<string, FuzzTarget>> = {
  filter: filterTarget,
  include: urls.includeTarget,
  query: urls.queryTarget,
  names: urls.namesTarget,
  order: urls.orderTarget,
  key: urls.keyTarget,
  select: urls.selectTarget,
  search: urls.searchTarget,
  "request-target": urls.requestTargetTarget,
  csv: files.csvTarget,
  "csv-value": files.csvValueTarget,
  "text-blocks": files.textBlocksTarget,
  json: files.jsonTarget,
  "import-map": files.importMapTarget,
  "create-table": sql.createTableTarget,
  "create-index": sql.createIndexTarget,
  "sqlite-script": sql.sqliteScriptTarget,
  "postgres-script": sql.postgresScriptTarget,
  expression: sql.expressionTarget,
  etag: headers.etagTarget,
  "idempotency-key": headers.idempotencyKeyTarget,
  forwarded: headers.forwardedTarget,
  headers: headers.headersTarget,
  host: headers.hostTarget,
  email: headers.emailTarget,
  cursor: tokens.cursorTarget,
  position: tokens.positionTarget,
  token: tokens.tokenTarget,
  link: tokens.linkTarget,
  timestamp: values.timestampTarget,
  value: values.valueTarget,
  like: values.likeTarget,
  regex: values.regexTarget,
  structure: values.structureTarget,
  connection: values.connectionTarget,
  arguments: values.argumentsTarget,
};
