import { isWhole } from "../../schema/kinds/kind_properties.ts";
import { noDebit } from "../../guard/budget/debit.ts";
import { formatKey } from "../../plan/key.ts";
import { showValue } from "../../problem/show_value.ts";
import type { CodeCaller, Resource } from "../model/resource.ts";
import type { Query } from "../http/query_parameters.ts";
import type { ResourceRequest } from "../model/operation.ts";
import { type AnyCallOptions, type CallName, queryOf } from "./code_query.ts";

export interface CodeCall {
  readonly name: CallName;
  readonly options: AnyCallOptions;
  /** The key of the row; undefined for operations without a key. */
  readonly key?: { readonly value: unknown };
  /** A copy of the values that the caller passed. */
  readonly body?: unknown;
  /** The filter of a batch if it is an object. A string filter is a member of `body`. */
  readonly filter?: Query["codeFilter"];
}

/**
 * Returns the request of a call by server-side code, as the stages of an operation expect it. The
 * request uses no budget, has no client address, and its reply is not stored for repeated requests.
 */
export function codeRequest(
  call: CodeCall,
  caller: CodeCaller,
  resource: Resource,
): ResourceRequest {
  const { name, options, key, body, filter } = call;
  return {
    segment: key === undefined ? "" : segmentOf(key.value, resource),
    query: queryOf(name, options, filter),
    body,
    header: (header) => headerOf(header, options),
    address: () => null,
    debit: noDebit,
    raw: caller.raw,
    signal: () => signalOf(options, caller),
    delivery: null,
    code: caller,
    safeNumbers: false,
    record: null,
  };
}

/** Formats a key like the id in the path of a request. Error messages contain this id, too. */
export function segmentOf(key: unknown, { table }: Resource): string {
  // The value of a single key column can itself be an array.
  const values: unknown[] = table.primaryKey.length === 1 ? [key] : [key].flat();
  if (values.some((value) => value === undefined || value === null)) {
    throw new TypeError(`Cannot use ${showValue(key)} as the key of a row`);
  }
  values.forEach((value, index) => {
    const column = table.primaryKey[index];
    if (
      column !== undefined && isWhole(column) && Number.isInteger(value) &&
      !Number.isSafeInteger(value)
    ) {
      throw new TypeError(`Give the key ${value} as a string or a bigint: a number rounds it`);
    }
  });
  return formatKey(values, table.primaryKey);
}

function headerOf(
  header: string,
  { ifMatch, ifNoneMatch, optimisticId }: AnyCallOptions,
): string | null {
  const value = header === "if-match"
    ? ifMatch
    : header === "if-none-match"
    ? ifNoneMatch
    : header === "service-optimistic-id"
    ? optimisticId
    : null;
  return value === undefined || value === null ? null : String(value);
}

function signalOf({ signal }: AnyCallOptions, { raw }: CodeCaller): AbortSignal {
  if (signal instanceof AbortSignal) return signal;
  return raw?.signal ?? new AbortController().signal;
}
