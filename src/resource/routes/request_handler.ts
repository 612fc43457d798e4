import { noDebit } from "../../guard/budget/debit.ts";
import type { Guard } from "../../guard/guard.ts";
import type { OperationProtection } from "../../guard/operation_protection.ts";
import type { Reply } from "../../protocol/reply.ts";
import { catching, chain, type MaybePromise } from "../../runtime/maybe_promise.ts";
import { isRead, type ResourceRoute } from "./endpoint.ts";
import {
  type ReceivedRequest,
  RoutedRequest,
  type RoutedRequestOptions,
} from "./routed_request.ts";
import type { Driver } from "../../db/driver.ts";
import { TableIdempotency } from "../../idempotency/table_idempotency.ts";
import {
  answerOnce,
  type IdempotentAdmission,
  inFlightProblem,
  type RequestClaim,
  type RequestExecution,
  type ResponseStorageLimits,
  toStoredResponse,
} from "../../idempotency/execute_idempotently.ts";
import type { ResponseStorageShares } from "../../idempotency/answer_shares.ts";
import { addressGroup } from "../../guard/client_address.ts";
import { parseIdempotencyKey } from "../../idempotency/idempotency_key.ts";
import type { ResolvedIdempotencyOptions } from "../../idempotency/idempotency_options.ts";
import { KvIdempotency } from "../../idempotency/kv_idempotency.ts";
import type { IdempotencyStore } from "../../idempotency/idempotency_store.ts";
import type { AppStore } from "../../kv/open_key_value_store.ts";
import type { Runtime } from "../../runtime/runtime.ts";
import { StoreError } from "../../kv/store_error.ts";
import type { RecordReply } from "../model/operation.ts";
import type { Resource } from "../model/resource.ts";
import { fieldsKeyOf } from "../rights/caller_view.ts";

/** Runs `execute`, or returns a stored response, which needs no challenge and no budget tokens. */
export type HandleIdempotently = (
  execute: (record: RecordReply | null) => MaybePromise<Reply>,
  admission: IdempotentAdmission | null,
) => Promise<Reply>;

export interface IdempotentAnswers {
  byKey(header: string, request: RoutedRequest, resource: Resource): HandleIdempotently;
  prepare(drivers: Iterable<Driver>): Promise<void>;
  /** Deletes expired responses from tables. A key-value store deletes expired values itself. */
  purge(): Promise<void>;
}

export interface IdempotentHandlersOptions {
  readonly options: ResolvedIdempotencyOptions;
  /** The key-value store. The first request with an `Idempotency-Key` opens it. */
  readonly store: Pick<AppStore, "need">;
  readonly shares: ResponseStorageShares;
  readonly runtime: Runtime;
}

export function createIdempotentHandlers(parts: IdempotentHandlersOptions): IdempotentAnswers {
  const { options: { storage, ttlMs }, shares, runtime } = parts;
  const { clock, random, observe } = runtime;
  const tables = new Map<Driver, TableIdempotency>();
  let shared: IdempotencyStore | null = null;

  function tableOf(driver: Driver): TableIdempotency {
    const known = tables.get(driver);
    const table = known ?? new TableIdempotency({ driver, ttlMs, clock, random });
    tables.set(driver, table);
    return table;
  }

  function sharedStore(): IdempotencyStore {
    return shared ??= new KvIdempotency({
      store: parts.store.need("idempotency keys"),
      ttlMs,
      clock,
    });
  }

  return {
    async prepare(drivers) {
      if (storage !== "db") return;
      for (const driver of drivers) {
        try {
          await tableOf(driver).prepare();
        } catch (error) {
          if (!(error instanceof StoreError)) throw error;
          // An operator can create the table later. Until then, requests with a key are rejected.
          observe({ kind: "idempotency_table_missing", database: driver.label, error });
        }
      }
    },
    async purge() {
      await Promise.all([...tables.values()].map((table) => table.purge()));
    },
    byKey(header, request, resource) {
      const { driver } = resource;
      const { request: { method, headers }, target: { query }, user } = request;
      const key = parseIdempotencyKey(header, user === null);
      const path = request.operationPath();
      // The prefix distinguishes a user's id from an equal address. The whole address identifies an
      // anonymous client, because clients in one network must not receive each other's responses.
      const address = request.address();
      const identity = user === null ? `a${address ?? ""}` : `u${user.id}`;
      // Stored responses are limited per network, because one client can have many addresses.
      const share = user === null ? `a${addressGroup(address)}` : identity;
      const ifMatch = headers.get("if-match");
      const table = storage === "db" ? tableOf(driver) : null;
      const keeping = { clock, random, observe, shares, ttlMs, store: table ?? sharedStore() };
      return async (execute, admission) => {
        const body = await request.body();
        // A stored response is reused only for the same form of numbers and the same type of body.
        const forms = (request.safeNumbers ? " safe" : "") + (request.isRaw ? " raw" : "");
        const fields = fieldsKeyOf(user, resource) + forms;
        return await answerOnce(
          { key, identity, share, method, path, query, ifMatch, fields, body },
          keeping,
          {
            execute: async (claim) =>
              table === null
                ? { reply: await execute(null), isStored: false }
                : await answerWithin(claim, table, keeping, execute),
            authorize: () => request.authorize(),
            send: (reply) => request.countStored(reply),
          },
          admission,
        );
      };
    },
  };
}

/** Responds with the reply that was stored together with the write, and serializes it once. */
async function answerWithin(
  claim: RequestClaim,
  table: TableIdempotency,
  keeping: ResponseStorageLimits,
  execute: (record: RecordReply) => MaybePromise<Reply>,
): Promise<RequestExecution> {
  const recorded: Reply[] = [];
  const reply = await execute(async (reply, connection) => {
    const answer = toStoredResponse(reply, claim.share, keeping);
    if (answer === null) return;
    // Throws if the claim had expired and another process has taken over the request.
    if (!await table.finishWithin(claim, answer, connection)) throw inFlightProblem();
    recorded.push(reply);
  });
  // A retried transaction records a reply for each attempt. Only the last attempt was committed.
  const last = recorded.at(-1);
  return last === undefined ? { reply, isStored: false } : { reply: last, isStored: true };
}

export type RequestHandler = (
  route: ResourceRoute,
  received: ReceivedRequest,
) => MaybePromise<Reply>;

export interface AnswerOptions extends RoutedRequestOptions {
  readonly guard: Guard;
  readonly idempotency: IdempotentAnswers | null;
}

export function createRequestHandler(options: AnswerOptions): RequestHandler {
  return function answerRequest(route, received) {
    const { endpoint, resource } = route;
    const request = new RoutedRequest(received, route, options);
    endpoint.requireAccess(request.user, resource);
    const key = isRead(route) ? null : received.request.headers.get("idempotency-key");
    const byKey = key === null ? null : options.idempotency?.byKey(key, request, resource) ?? null;
    const protection = endpoint.protection(resource);
    if (protection !== undefined) {
      return answerGuarded(request, { guard: options.guard, protection, byKey });
    }
    if (byKey === null) return request.run(noDebit, null);
    return byKey((record) => request.run(noDebit, record), null);
  };
}

/** Counts a request with invalid credentials against its address's rate limit. Throws a 429. */
export async function countRejectedRequest(
  route: ResourceRoute,
  received: ReceivedRequest,
  options: Pick<AnswerOptions, "guard" | keyof RoutedRequestOptions>,
): Promise<Reply["headers"]> {
  const protection = route.endpoint.protection(route.resource);
  if (protection === undefined || protection.rateLimit === null) return {};
  const request = new RoutedRequest(received, route, options);
  const admission = options.guard.admission(protection, request);
  try {
    await admission.countRequest();
  } catch (error) {
    throw admission.finishError(error);
  }
  return admission.finishReply({ status: 401, headers: {}, body: null }).headers;
}

export function haveRateLimit(routes: readonly ResourceRoute[]): boolean {
  return routes.some(({ endpoint, resource }) => {
    const protection = endpoint.protection(resource);
    return protection !== undefined && protection.rateLimit !== null;
  });
}

interface GuardedAnswer {
  readonly guard: Guard;
  readonly protection: OperationProtection;
  readonly byKey: HandleIdempotently | null;
}

function answerGuarded(
  request: RoutedRequest,
  { guard, protection, byKey }: GuardedAnswer,
): MaybePromise<Reply> {
  const admission = guard.admission(protection, request);
  // Rate limits count a repeated request. A stored response uses no tokens of a budget.
  const answer = () =>
    byKey === null
      ? chain(admission.admit(), () => request.run(admission, null))
      : byKey((record) => request.run(admission, record), admission);
  const replying = catching(
    () => chain(admission.countRequest(), answer),
    (error) =>
      chain(admission.returnSolution(error), () => {
        throw admission.finishError(error);
      }),
  );
  return chain(
    replying,
    (reply) => chain(admission.returnSolution(reply), () => admission.finishReply(reply)),
  );
}
