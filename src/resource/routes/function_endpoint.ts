import { allRows } from "../../filter/filter.ts";
import { DatabaseError, type DatabaseErrorKind, databaseProblem } from "../../db/database_error.ts";
import {
  type DatabaseFunction,
  type FunctionArgument,
  type FunctionArguments,
  prepareCall,
  tableOfCall,
} from "../../db/functions/database_function.ts";
import { findRefused } from "../../db/rejected_value.ts";
import { sql, tableName } from "../../sql/fragment.ts";
import { createAggregateColumns } from "../../plan/aggregate_columns.ts";
import { didYouMean } from "../../problem/nearest_name.ts";
import { invalidParameter, Problem } from "../../problem/problem.ts";
import { kindOfColumn } from "../../schema/structured/structured_value.ts";
import type { ColumnInfo, TableInfo } from "../../schema/table_info.ts";
import { InvalidValue } from "../../schema/kind.ts";
import { parseJson } from "../../schema/exact_json.ts";
import { jsonContentType } from "../../protocol/reply.ts";
import { decodeText, mediaTypeOf } from "../http/request_body.ts";
import { DataReply, jsonReply, safeNumbersType } from "../http/json_reply.ts";
import type { ResourceCall, ResourceRequest, ShapedReply } from "../model/operation.ts";
import type { Resource } from "../model/resource.ts";
import { limitedWork } from "../read/limited_reads.ts";
import { list } from "../operations/list.ts";
import { narrowForCaller } from "../rights/caller_view.ts";
import { runOperation } from "../run_operation.ts";
import { isPlainObject } from "../write/nested/parse/parse_row_id.ts";
import { fieldErrors } from "../write/refused/refused_write.ts";
import { wholeBody } from "../write/values/batch_items.ts";
import { type FieldError, invalidField, InvalidFields } from "../write/values/parse_fields.ts";
import { inTransaction } from "../write/transaction/in_transaction.ts";

const rowParameters: readonly string[] = [
  ...["filter", "select", "include", "orderBy", "limit", "cursor", "offset", "totalCount"],
];

/** Parameters that need a second statement, which would call a volatile function a second time. */
const repeating: readonly string[] = ["cursor", "offset", "totalCount", "include"];

/** Runs a function with the caller's role, in a read-only transaction unless it is volatile. */
export async function callFunction(
  first: DatabaseFunction,
  { request, user, resource: host }: ResourceCall,
): Promise<DataReply> {
  const called = first.overloads.length === 0 ? first : chosenFunction(first, request);
  const rows = { ...request, query: listQueryOf(called, request) };
  const values = argumentsOf(called, request, host.driver);
  const resource = resourceOfResult(called, values, host);
  try {
    const call = { request: rows, user, resource };
    const page = await limitedWork(call, () => runInTransaction(called, call));
    const data = dataOf(called, page);
    return jsonReply(200, { data }, request.safeNumbers ? safeNumbersType : undefined);
  } catch (error) {
    const cause = error instanceof Problem ? error.cause : error;
    const isWrite = cause instanceof DatabaseError && cause.kind === "writing-read";
    if (called.isQuery && isWrite && cause.raised === null) {
      const why = "it changes the database, although it is not declared as volatile";
      throw new Problem("forbidden", `Cannot call ${called.name}: ${why}`, { cause });
    }
    // The problem of the list operation says "Cannot read", but the caller has called a function.
    const isOfCall = cause instanceof DatabaseError && failuresOfCalls.has(cause.kind);
    if (isOfCall) await refuseArgument(values, narrowForCaller(user, host));
    throw databaseProblem(isOfCall ? cause : error, `call ${called.name}`);
  }
}

const failuresOfCalls: ReadonlySet<DatabaseErrorKind> = new Set<DatabaseErrorKind>([
  ...["unique", "foreign-key", "not-null", "check", "invalid-value"] as const,
  ...["retryable", "forbidden", "writing-read", "failed-computation"] as const,
]);

async function refuseArgument(values: FunctionArguments, { driver }: Resource): Promise<void> {
  const typed = [...values].map(([{ column, type }, value]) => ({
    ...{ column, value },
    read: sql`CAST(${driver.dialect.encode(value, column)} AS ${tableName(type)})`,
  }));
  const refused = await findRefused(typed, driver);
  if (refused === null) return;
  throw new InvalidFields(fieldErrors([refused.value.column], refused.error, wholeBody));
}

async function runInTransaction(
  called: DatabaseFunction,
  { request, user, resource: target }: ResourceCall,
): Promise<ShapedReply> {
  const narrowed = narrowForCaller(user, target, request.safeNumbers);
  const { driver } = narrowed;
  // Disables the check for changed tables, which would need a second connection.
  const runtime = { ...target.runtime, tablesChanged: undefined };
  return await inTransaction({ resource: narrowed, record: null }, async (connection) => {
    if (!await prepareCall(called, target.readCosts.queryTimeoutMs, connection)) {
      throw new Problem("forbidden", `Cannot call ${called.name}: the database does not allow it`);
    }
    return await connection.joined(driver).join((part) => {
      // The driver of the transaction already has the caller's role.
      const within = { ...target, runtime, driver: part.driver, identityOf: null };
      return Promise.resolve(runOperation(list, request, user, within));
    });
  });
}

/** Finds the overload by its argument names. Throws a 422 unless exactly one overload fits. */
function chosenFunction(
  first: DatabaseFunction,
  { body, query, header }: ResourceRequest,
): DatabaseFunction {
  const isInUrl = body === undefined;
  const isRaw = body instanceof Uint8Array;
  const all = [first, ...first.overloads]
    .filter(({ bodyType }) => !isInUrl || bodyType === null);
  const given = isInUrl ? [...query.keys()] : isPlainObject(body) && !isRaw && Object.keys(body);
  const byNames = all.filter(({ args, result }) => {
    const known = args.map(({ column }) => column.name);
    const others = isInUrl && result.kind === "rows" ? rowParameters : [];
    return given !== false &&
      given.every((name) => known.includes(name) || others.includes(name)) &&
      args.every(({ column, isOptional }) => isOptional || given.includes(column.name));
  });
  const ofBody = all.filter(({ bodyType }) => bodyType !== null);
  const type = isRaw ? mediaTypeOf(header) : jsonContentType;
  const ofType = ofBody.filter(({ bodyType }) => bodyType === type);
  const [chosen, other] = [byNames, ofType, ofBody].find((some) => some.length > 0) ?? [];
  // Postgres refuses a call that fits several functions, even if a GET could call only one of them.
  const mayBeCalled = chosen !== undefined && (!isInUrl || chosen.isQuery);
  if (mayBeCalled && other === undefined) return chosen;
  const fault = other === undefined ? "no function takes" : "several functions take";
  const listed = all.filter(({ isQuery }) => !isInUrl || isQuery || other !== undefined);
  const shown = listed.slice(0, maxShown).map((one) => {
    const names = one.args.map(({ column, isOptional }) => column.name + (isOptional ? "?" : ""));
    return `${one.name}(${one.bodyType ?? names.join(", ")})`;
  });
  const message = `${fault} these arguments; there is ${shown.join(", ")}`;
  const details = { errors: [{ path: "", message }] };
  throw new Problem("validation-error", `Cannot call ${first.name}: ${message}`, { details });
}

function argumentsOf(
  { args, bodyType }: DatabaseFunction,
  { body, query }: ResourceRequest,
  { dialect }: Resource["driver"],
): FunctionArguments {
  const isInBody = body !== undefined;
  const members = bodyType === null ? body : { "": body };
  if (isInBody && !isPlainObject(members)) throw invalidField("must be an object of arguments");
  const given = new Map<string, unknown>(
    isPlainObject(members) ? Object.entries(members) : query,
  );
  const names = args.map(({ column }) => column.name);
  const unknown = isInBody ? [...given.keys()].filter((name) => !names.includes(name)) : [];
  const faults: FieldError[] = unknown.slice(0, maxShown).map((name) => ({
    path: name.slice(0, 100),
    message: `is not an argument${didYouMean(name, names)}`,
  }));
  const values = new Map<FunctionArgument, unknown>();
  // The arguments of a variadic function are passed in order. Only the last ones can be omitted.
  const last = args.some(({ isVariadic }) => isVariadic)
    ? names.findLastIndex((name) => given.has(name))
    : -1;
  for (const [index, argument] of args.entries()) {
    const { column, isOptional } = argument;
    const { name } = column;
    const value = given.get(name);
    if (!given.has(name)) {
      if (!isOptional || index < last) faults.push({ path: name, message: "is required" });
      continue;
    }
    try {
      const parse = isInBody ? argumentFromJson : argumentFromText;
      const parsed = value === null ? null : parse(value, column);
      dialect.check(parsed, column);
      values.set(argument, parsed);
    } catch (error) {
      if (!(error instanceof InvalidValue)) throw error;
      faults.push({ path: name, message: error.message });
    }
  }
  if (faults.length > 0) throw new InvalidFields(faults);
  return values;
}

const maxShown = 10;

function argumentFromJson(value: unknown, column: ColumnInfo): unknown {
  const isText = value instanceof Uint8Array && column.kind === "text";
  return kindOfColumn(column).fromJson(isText ? decodeText(value) : value, column);
}

function argumentFromText(value: unknown, column: ColumnInfo): unknown {
  const text = String(value);
  if (column.kind !== "json") return kindOfColumn(column).fromText(text, column);
  let json: unknown;
  try {
    json = parseJson(text);
  } catch {
    throw new InvalidValue("must be JSON");
  }
  return argumentFromJson(json, column);
}

/** Returns the query for a list of the function's rows. Throws a 400 for an unknown name. */
function listQueryOf(
  { name: subject, args, result, isQuery }: DatabaseFunction,
  { raw, body, query, code }: ResourceRequest,
): ResourceRequest["query"] {
  const hasRows = result.kind === "rows";
  const names = body === undefined ? args.map(({ column }) => column.name) : [];
  const known = [...names, ...hasRows ? rowParameters : []];
  const refused = (reason: string) => invalidParameter(`Cannot ${reason}`);
  // For a call by server-side code, `raw` is null or the request that the code handles.
  const isCode = raw === null || code !== null;
  for (const name of isCode ? query.keys() : new URL(raw.url).searchParams.keys()) {
    if (!known.includes(name)) {
      const shown = name.slice(0, 50);
      const hint = didYouMean(shown, known);
      throw refused(`call ${subject}: "${shown}" is not one of its arguments${hint}`);
    }
    if (!isQuery && repeating.includes(name)) {
      throw refused(
        `use "${name}" here: ${subject} may change rows, so a request calls it only once`,
      );
    }
  }
  if (!hasRows) return new Map([["limit", "1"]]);
  const ofRows = new Map([...query].filter(([name]) => !names.includes(name)));
  const { codeFilter } = query;
  return codeFilter === undefined ? ofRows : Object.assign(ofRows, { codeFilter });
}

/** Returns a copy of the served resource, or a new resource, whose rows are the call's result. */
function resourceOfResult(
  called: DatabaseFunction,
  values: FunctionArguments,
  host: Resource,
): Resource {
  const { name } = called;
  const found = servedResult(called, host);
  const { dialect } = host.driver;
  const table = tableOfCall(called, values, found?.table ?? null, dialect);
  // The URL names the arguments: a cursor is invalid for another function with the same name.
  const url = `${host.url}/rpc/${name}(${called.args.map(({ column }) => column.name).join()})`;
  return found === undefined ? ofResult(table, { ...host, url }) : { ...found, url, table };
}

export function servedResult(
  { result: { table: returned } }: DatabaseFunction,
  { tables, served, driver }: Resource,
): Resource | undefined {
  // Another database of the app can have a table with the same name.
  const table = tables.find((one) =>
    one.name === returned?.name && one.schema === returned.schema &&
    served.get(one)?.driver === driver
  );
  return table && served.get(table);
}

function ofResult(table: TableInfo, host: Resource): Resource {
  const { columns } = table;
  return {
    ...host,
    table,
    policy: { ...host.policy, public: new Set(["read"]), publicScopes: new Map() },
    fields: {
      ...{ readable: columns, selectable: columns },
      writable: new Set(),
      immutable: new Set(),
      filterable: new Set(columns),
      sortable: new Set(columns),
    },
    stored: columns,
    ...{ fieldsOf: null, withheld: new Set(), varyingFields: new Set(), views: new WeakMap() },
    ...{ relations: new Map(), computed: { ...host.computed, fields: [] }, etag: null },
    ...{ softDelete: null, undeleted: allRows },
    groups: createAggregateColumns(table, columns),
  };
}

function dataOf(
  { result: { kind, columns }, isQuery }: DatabaseFunction,
  page: ShapedReply,
): unknown {
  const data: unknown = page instanceof DataReply ? page.fittingData() : null;
  if (kind === "void") return null;
  // A request calls a volatile function only once, so no cursor leads to a next page.
  if (kind === "rows") return isQuery ? data : { ...Object(data), nextCursor: null };
  const [row = null]: readonly unknown[] = Object(data).items ?? [];
  return kind === "row" ? row : Object(row)[columns[0]?.name ?? ""] ?? null;
}
