import { DatabaseError, databaseProblem } from "../../db/database_error.ts";
import { driverActingAs } from "../../db/transact.ts";
import type { Driver } from "../../db/driver.ts";
import { SqlPlans } from "../../db/template/sql_plan.ts";
import { transactionHandle } from "../../db/database_handle.ts";
import { didYouMean } from "../../problem/nearest_name.ts";
import type { Filter } from "../../filter/filter.ts";
import { none } from "../../filter/builders.ts";
import { keyFilter, parseKey } from "../../plan/key.ts";
import { Problem } from "../../problem/problem.ts";
import type { Runtime } from "../../runtime/runtime.ts";
import type { TableLike } from "../../schema/table_like.ts";
import type { CodeCaller, Resource } from "../model/resource.ts";
import { requireTableInfo } from "../define/resource_definition.ts";
import { get } from "../operations/get.ts";
import { subscribe } from "../operations/subscribe.ts";
import { type Endpoint, endpointOf } from "../routes/endpoint.ts";
import { routesOf } from "../routes/routes.ts";
import type { ShapedReply } from "../model/operation.ts";
import { inTransaction } from "../write/transaction/in_transaction.ts";
import type { AnyApi, CodeApi, CodeTransaction } from "../model/code_api.ts";
import { type CodeCall, codeRequest, createCodeCalls, segmentOf } from "./code_request.ts";
import type { Access } from "../../auth/authorize.ts";
import { createAggregateColumns } from "../../plan/aggregate_columns.ts";
import type { ColumnInfo } from "../../schema/table_info.ts";

/** The maximum depth of nested calls. Calls are nested if hooks and procedures call operations. */
const maxDepth = 16;

/** The key of a hidden API member for rights checks. A symbol cannot be a resource's name. */
export const rowTrials: unique symbol = Symbol("rowTrials");

export interface RowTrials {
  readonly api: CodeApi<AnyApi>;
  filterOf(key: unknown): Filter;
  /** Reads the row as a live stream would, and throws the problem that a stream would throw. */
  readStreamed(key: unknown): Promise<void>;
}

const streamedRow = endpointOf({
  ...get,
  access: "subscribe",
  requireFields: (resource) => subscribe.requireFields?.(resource),
});

interface CalledResource {
  readonly resource: Resource;
  readonly endpoints: ReadonlyMap<string, Endpoint>;
}

export class CodeApis {
  readonly #resources: ReadonlyMap<string, Resource>;
  readonly #runtime: Runtime;
  readonly #identityOf: Resource["identityOf"];
  readonly #called = new Map<Resource, CalledResource>();
  readonly #ofSystem: ResourceTransform = createSystemTransform();
  readonly #sqlPlans = new SqlPlans();

  /** `resources` contains the resources by their decoded path below the base path. */
  constructor(
    resources: ReadonlyMap<string, Resource>,
    runtime: Runtime,
    identityOf: Resource["identityOf"],
  ) {
    this.#resources = resources;
    this.#runtime = runtime;
    this.#identityOf = identityOf;
  }

  of(caller: CodeCaller, driver: Driver): CodeApi<AnyApi> {
    const members: Record<PropertyKey, unknown> = {
      // The object has no prototype, because a resource can have a name such as `constructor`.
      __proto__: null,
      of: (given: string | TableLike<unknown, unknown>) =>
        this.#callsOf(typeof given === "string" ? given : this.#pathOf(given), caller),
      asSystem: () => this.of({ ...caller, user: null, isSystem: true }, driver),
      transaction: <T>(work: (tx: CodeTransaction<AnyApi>) => Promise<T>) =>
        this.#transaction(work, caller, driver),
      [rowTrials]: (path: string) => this.#rowTrials(path, caller),
    };
    const api = new Proxy(members, {
      get: (known, name) => {
        // Not a resource: `await` calls a member `then`, and `JSON.stringify` a member `toJSON`.
        if (typeof name === "symbol" || name === "then" || name === "toJSON") return known[name];
        return known[name] ??= this.#callsOf(name, caller);
      },
    });
    // The proxy creates its members on access, so the compiler cannot check its type.
    return api as unknown as CodeApi<AnyApi>;
  }

  #pathOf(given: TableLike<unknown, unknown>): string {
    const table = requireTableInfo(given);
    for (const [path, resource] of this.#resources) if (resource.table === table) return path;
    throw new Error(`There is no resource of the table "${table.label}"`);
  }

  #resourceAt(path: string): Resource {
    const resource = this.#resources.get(path);
    if (resource !== undefined) return resource;
    const hint = didYouMean(path, [...this.#resources.keys()]);
    throw new Error(`There is no resource "${path}"${hint}`);
  }

  #rowTrials(path: string, caller: CodeCaller): RowTrials {
    const resource = this.#resourceAt(path);
    const keyOf = (key: unknown) => parseKey(segmentOf(key, resource), resource.table);
    const subscribable = this.#calledResource(resource).endpoints.has("GET /subscribe");
    const endpoints = new Map(subscribable ? [["GET /subscribe", streamedRow]] : []);
    return {
      api: this.of(caller, resource.driver),
      filterOf(key) {
        const parsed = keyOf(key);
        return parsed === null ? none() : keyFilter(parsed, resource.table);
      },
      readStreamed: async (key) => {
        const call: CodeCall = { name: "get", options: {}, key: { value: key } };
        await this.#run("GET /subscribe", { resource, endpoints }, call, caller);
      },
    };
  }

  #callsOf(path: string, caller: CodeCaller): unknown {
    const resource = this.#resourceAt(path);
    const called = this.#calledResource(caller.isSystem ? this.#ofSystem(resource) : resource);
    return createCodeCalls((route, call) => this.#run(route, called, call, caller));
  }

  #calledResource(resource: Resource): CalledResource {
    const known = this.#called.get(resource);
    if (known !== undefined) return known;
    const endpoints = new Map(
      routesOf(resource).map(({ method, path, endpoint }) => [`${method} ${path}`, endpoint]),
    );
    const called = { resource, endpoints };
    this.#called.set(resource, called);
    return called;
  }

  async #run(
    route: string,
    { resource, endpoints }: CalledResource,
    call: CodeCall,
    caller: CodeCaller,
  ): Promise<ShapedReply> {
    const endpoint = endpoints.get(route);
    if (endpoint === undefined) throw notOffered(route, resource);
    const { depth, within } = caller;
    if (depth > maxDepth) throw tooDeep(endpoint, resource);
    if (within === null || within.base !== resource.driver) {
      return await answer(endpoint, call, { ...caller, within: null }, resource);
    }
    return await within.join((part) => {
      // Only the resources of this database use its open transaction.
      const joined = changedResources(({ driver, sqlPlans }) =>
        driver === resource.driver ? { driver: part.driver, db: part.handle(sqlPlans) } : null
      );
      return answer(endpoint, call, { ...caller, within: part.within }, joined(resource));
    }, caller.isSystem);
  }

  async #transaction<T>(
    work: (tx: CodeTransaction<AnyApi>) => Promise<T>,
    caller: CodeCaller,
    base: Driver,
  ): Promise<T> {
    const { within } = caller;
    let failure: unknown = null;
    const run = (driver: Driver) =>
      inTransaction(
        { resource: { driver, runtime: this.#runtime }, record: null },
        async (connection) => {
          const api = this.of({ ...caller, within: connection.joined(driver) }, base);
          const db = transactionHandle(connection, driver.dialect, this.#sqlPlans);
          try {
            return await work({ api, db });
          } catch (error) {
            failure = error;
            throw error;
          }
        },
      );
    if (within !== null) return await within.join(({ driver }) => run(driver), caller.isSystem);
    try {
      const identityOf = caller.isSystem ? null : this.#identityOf;
      return await run(identityOf === null ? base : driverActingAs(base, identityOf(caller.user)));
    } catch (error) {
      // An error of `work` stays as it is. A failed BEGIN, COMMIT or last retry becomes a problem.
      const isOwn = error === failure &&
        !(error instanceof DatabaseError && error.kind === "retryable");
      throw isOwn ? error : databaseProblem(error, "update");
    }
  }
}

async function answer(
  endpoint: Endpoint,
  call: CodeCall,
  caller: CodeCaller,
  resource: Resource,
): Promise<ShapedReply> {
  const { signal } = call.options;
  const requireWanted = () => {
    if (signal instanceof AbortSignal) signal.throwIfAborted();
  };
  requireWanted();
  endpoint.requireAccess(caller.user, resource);
  try {
    return await endpoint.call(codeRequest(call, caller, resource), caller.user, resource);
  } catch (error) {
    // An aborted read throws a timeout error. `requireWanted` then throws the abort reason.
    requireWanted();
    throw error;
  }
}

function notOffered(route: string, { name }: Resource): Problem {
  return new Problem("method-not-allowed", `"${name}" has no operation ${route}`);
}

function tooDeep({ name: operation }: Endpoint, { name }: Resource): Error {
  return new Error(
    `Cannot call ${operation} of "${name}": hooks and procedures have called one another ` +
      `${maxDepth} times. One of them may lead to itself`,
  );
}

/** Returns a changed copy of a resource. For one resource, every call returns the same copy. */
export type ResourceTransform = (resource: Resource) => Resource;

/** Grants all rows, fields and supported operations. ETags equal the ETags that users get. */
export function createSystemTransform(): ResourceTransform {
  return changedResources(({ policy, table, softDelete, search, capabilities }) => {
    const isWritten = !table.readOnly;
    const { view } = table;
    const selectable = [...table.byName.values()];
    return {
      policy: { ...policy, public: allAccesses, publicScopes: new Map(), scopes: new Map() },
      fields: {
        ...{ readable: table.columns, selectable },
        writable: new Set(table.columns),
        immutable: noColumns,
        filterable: new Set(selectable),
        sortable: new Set(selectable),
      },
      fieldsOf: null,
      identityOf: null,
      variesByCaller: false,
      groups: createAggregateColumns(table, selectable),
      capabilities: {
        ...capabilities,
        enableCreate: isWritten && view?.insert !== false,
        enableUpdate: isWritten && view?.update !== false,
        enableDelete: isWritten && view?.delete !== false,
        enableBatch: isWritten,
        enableAggregations: true,
        enableRestore: isWritten && softDelete !== null,
        enableSearch: search !== null,
      },
    };
  });
}

const allAccesses: ReadonlySet<Access> = new Set(
  ["read", "create", "update", "delete", "subscribe"],
);
const noColumns: ReadonlySet<ColumnInfo> = new Set();

/** Also changes the related resources, because the rights of a call apply to their rows, too. */
function changedResources(
  change: (resource: Resource) => Partial<Resource> | null,
): ResourceTransform {
  const known = new Map<Resource, Resource>();
  return function changed(resource) {
    const before = known.get(resource);
    if (before !== undefined) return before;
    const changes = change(resource);
    const made: Resource = changes === null ? resource : {
      ...resource,
      ...changes,
      served: {
        get(table) {
          const target = resource.served.get(table);
          return target === undefined ? undefined : changed(target);
        },
      },
    };
    known.set(resource, made);
    return made;
  };
}
