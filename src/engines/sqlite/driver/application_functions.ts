import { resolve } from "node:path";
import type { SqlValue } from "../../../sql/fragment.ts";
import type { SqliteAdditions } from "../../../db/driver_options.ts";
import type { SqliteAggregate, SqliteHandle } from "./sqlite_library.ts";

export interface ConnectionAdditions {
  readonly functions: string | null;
  /** The absolute paths of extensions. The system would search its folders for a plain name. */
  readonly extensions: readonly string[];
}

export function additionsOf({ functions, extensions = [] }: SqliteAdditions): ConnectionAdditions {
  return {
    functions: functions === undefined ? null : String(functions),
    extensions: extensions.map((path) => resolve(path)),
  };
}

type ApplicationFunction =
  | { readonly name: string; readonly aggregate: SqliteAggregate<unknown> }
  | {
    readonly name: string;
    readonly aggregate: null;
    readonly call: (...values: unknown[]) => unknown;
    readonly deterministic: boolean;
    readonly replaces: boolean;
  };

export type ApplicationFunctions = readonly ApplicationFunction[];

/** An export is a function, an object `{ call, deterministic }`, or `{ start, step, result }`. */
export async function importFunctions(url: string | null): Promise<ApplicationFunctions> {
  if (url === null) return [];
  return Object.entries(await importModule(url)).map(([name, given]) => {
    const found = functionOf(name, given);
    if (found !== null) return found;
    throw new Error(
      `Cannot take ${name} of ${url} for a function of SQL: it must be a synchronous function with ` +
        "a name, { call, deterministic }, or { start, step, result } for an aggregate",
    );
  });
}

async function importModule(url: string): Promise<Readonly<Record<string, unknown>>> {
  try {
    return await import(url);
  } catch (cause) {
    const reason = cause instanceof Error ? cause.message : String(cause);
    throw new Error(`Cannot load the functions of ${url}: ${reason}`, { cause });
  }
}

function functionOf(name: string, given: unknown): ApplicationFunction | null {
  if (name === "default") return null;
  if (isFunction(given)) {
    return { name, aggregate: null, call: given, deterministic: false, replaces: false };
  }
  // Reads only own members, because every JavaScript function inherits a member `call`.
  const member = (key: string): unknown =>
    typeof given === "object" && given !== null ? Reflect.get(given, key) : undefined;
  const [call, start, step, result] = ["call", "start", "step", "result"].map(member);
  const deterministic = member("deterministic") ?? false;
  if (isFunction(call) && typeof deterministic === "boolean") {
    return { name, aggregate: null, call, deterministic, replaces: true };
  }
  if (!isFunction(start) || !isFunction(step) || !isFunction(result)) return null;
  return { name, aggregate: aggregateOf(name, { start, step, result }) };
}

type Given = (...values: unknown[]) => unknown;

/** Returns false for asynchronous functions and generators, whose results are not SQL values. */
function isFunction(given: unknown): given is Given {
  return Object.prototype.toString.call(given) === "[object Function]";
}

function aggregateOf(
  name: string,
  { start, step, result }: { readonly start: Given; readonly step: Given; readonly result: Given },
): SqliteAggregate<unknown> {
  const guarded = (work: () => unknown) => guard(name, work);
  return {
    start: () => guarded(() => start()),
    step: (state, ...values) => guarded(() => step(state, ...values.map(toArgument))),
    result: (state) => toResult(name, guarded(() => result(state))),
  };
}

export function defineFunctions(handle: SqliteHandle, functions: ApplicationFunctions): void {
  if (functions.length === 0) return;
  const known = handle.prepare("SELECT lower(name) FROM pragma_function_list").all([], false) ?? [];
  const taken = new Set(known.map(([name]) => name));
  for (const one of functions) {
    const { name } = one;
    if (/^service_/i.test(name)) {
      throw new Error(`Cannot add the function ${name} to SQL: such names are of the service`);
    }
    if (one.aggregate !== null) {
      handle.defineAggregate(name, one.aggregate);
      continue;
    }
    if (!one.replaces && taken.has(name.toLowerCase())) {
      throw new Error(
        `Cannot add the function ${name} to SQL: SQLite has one of that name, which statements of ` +
          "the service may call. Give it another name, or export { call } to replace it",
      );
    }
    handle.defineFree(
      name,
      one.deterministic,
      (...values) => toResult(name, guard(name, () => one.call(...values.map(toArgument)))),
    );
  }
}

function guard(name: string, work: () => unknown): unknown {
  try {
    return work();
  } catch (cause) {
    const reason = cause instanceof Error ? cause.message : String(cause);
    throw new Error(`The function ${name} of the application failed: ${reason}`, { cause });
  }
}

function toArgument(value: unknown): unknown {
  if (typeof value !== "bigint") return value;
  const number = Number(value);
  return Number.isSafeInteger(number) ? number : value;
}

/** Converts a function's result to an SQL value. A number without a fraction becomes an integer. */
function toResult(name: string, value: unknown): SqlValue {
  if (value === undefined || value === null) return null;
  if (typeof value === "boolean") return value ? 1n : 0n;
  if (typeof value === "number") return Number.isSafeInteger(value) ? BigInt(value) : value;
  if (typeof value === "bigint" && BigInt.asIntN(64, value) === value) return value;
  if (typeof value === "string" || value instanceof Uint8Array) return value;
  throw new Error(
    `The function ${name} of the application gave no value of SQL: a string, a number, a bigint ` +
      "of 64 bits, true or false, a Uint8Array or null",
  );
}
