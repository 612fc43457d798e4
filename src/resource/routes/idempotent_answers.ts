import type { Driver } from "../../db/driver.ts";
import { TableIdempotency } from "../../idempotency/table_idempotency.ts";
import {
  answerOnce,
  type IdempotentAdmission,
  inFlightProblem,
  type RequestOutcome,
} from "../../idempotency/answer_once.ts";
import type { AnswerShares } from "../../idempotency/answer_shares.ts";
import { type AnswerKeeping, keptAnswer } from "../../idempotency/kept_answer.ts";
import { addressGroup } from "../../guard/client_address.ts";
import { parseIdempotencyKey } from "../../idempotency/idempotency_key.ts";
import type { ResolvedIdempotencyOptions } from "../../idempotency/idempotency_options.ts";
import { KvIdempotency } from "../../idempotency/kv_idempotency.ts";
import type { Reply } from "../../protocol/reply.ts";
import type { IdempotencyClaim, IdempotencyStore } from "../../idempotency/idempotency_store.ts";
import type { AppStore } from "../../kv/open_key_value_store.ts";
import type { Runtime } from "../../runtime/runtime.ts";
import { StoreError } from "../../kv/store_error.ts";
import type { MaybePromise } from "../../runtime/maybe_promise.ts";
import type { RoutedRequest } from "./routed_request.ts";
import type { RecordReply } from "../model/operation.ts";
import type { Resource } from "../model/resource.ts";
import { fieldsKeyOf } from "../rights/caller_view.ts";

/**
 * Answers a request with an `Idempotency-Key` by executing it, or by its stored answer, which needs
 * no admission.
 */
export type AnswerIdempotently = (
  execute: (record: RecordReply | null) => MaybePromise<Reply>,
  admission: IdempotentAdmission | null,
) => Promise<Reply>;

/** The idempotent answers of an app: each request with an `Idempotency-Key` is executed once. */
export interface IdempotentAnswers {
  /** For a request with an `Idempotency-Key`, its header. Throws a 400 for a malformed key. */
  byKey(header: string, request: RoutedRequest, resource: Resource): AnswerIdempotently;
  /** Creates the table of idempotency records in these databases, where they are kept there. */
  prepare(drivers: Iterable<Driver>): Promise<void>;
  /** Deletes expired answers from those tables; a store expires its own. */
  purge(): Promise<void>;
}

/** What the idempotent answers of an app need. */
export interface IdempotentAnswersOptions {
  readonly options: ResolvedIdempotencyOptions;
  /** Opened only for the first request with a key. */
  readonly store: Pick<AppStore, "need">;
  readonly shares: AnswerShares;
  readonly runtime: Runtime;
}

/** Creates the idempotent answers of an app. */
export function createIdempotentAnswers(parts: IdempotentAnswersOptions): IdempotentAnswers {
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
          // The table may be created later; until then requests with a key are refused.
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
      // Prefixed, because a user's id may equal an address. The whole address counts, not its
      // network as for budgets: neighbours must not receive each other's answers.
      const address = request.address();
      const identity = user === null ? `a${address ?? ""}` : `u${user.id}`;
      // One client has many addresses of its network.
      const share = user === null ? `a${addressGroup(address)}` : identity;
      const ifMatch = headers.get("if-match");
      const table = storage === "db" ? tableOf(driver) : null;
      const keeping = { clock, random, observe, shares, ttlMs, store: table ?? sharedStore() };
      return async (execute, admission) =>
        await answerOnce(
          {
            ...{ key, identity, share, method, path, query, ifMatch },
            // An answer of the other form is another answer.
            fields: fieldsKeyOf(user, resource) + (request.safeNumbers ? " safe" : ""),
            body: await request.body(),
          },
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
    },
  };
}

/** Answers with the reply that was stored with the write: it is shaped once, so it cannot differ. */
async function answerWithin(
  claim: IdempotencyClaim,
  table: TableIdempotency,
  keeping: AnswerKeeping,
  execute: (record: RecordReply) => MaybePromise<Reply>,
): Promise<RequestOutcome> {
  const recorded: Reply[] = [];
  const reply = await execute(async (reply, connection) => {
    const answer = keptAnswer(reply, claim.share, keeping);
    if (answer === null) return;
    // Another process took over the claim after its lease, and answers the request.
    if (!await table.finishWithin(claim, answer, connection)) throw inFlightProblem();
    recorded.push(reply);
  });
  // A transaction that was retried has recorded more than one.
  const last = recorded.at(-1);
  return last === undefined ? { reply, isStored: false } : { reply: last, isStored: true };
}
