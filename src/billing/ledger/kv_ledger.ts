import { Problem } from "../../problem/problem.ts";
import { entriesBelow } from "../../kv/entries_below.ts";
import { HotKeys } from "../../kv/hot_keys.ts";
import type { KeyValue, KeyValueKey, KeyValueMutation } from "../../kv/key_value.ts";
import { type Runtime, uuidV7 } from "../../runtime/runtime.ts";
import { type AccountState, decodeAccountState, Entries } from "./account_state.ts";
import { type AccountAudit, auditAccount } from "./audit_account.ts";
import {
  type CommitOptions,
  type ConsumeOptions,
  type CreditsLedger,
  type FoundGrant,
  type HistoryPage,
  type LedgerNote,
  parseAccount,
  parseAmount,
  parseLedgerKey,
  parseLifetime,
  parseReason,
  type Reservation,
  type ReserveOptions,
  type ReserveResult,
  type ReverseOptions,
} from "./credits_ledger.ts";
import type { LedgerEntry } from "./ledger_entry.ts";
import { ledgerKeys } from "./ledger_keys.ts";
import { asOperation, asReservation, recordMutations } from "./ledger_records.ts";
import {
  type BalanceChange,
  changeBalance,
  type EndedReservation,
  endReservation,
  expireReservations,
  type LedgerResult,
  type ReservationEnd,
  reserveCredits,
  reverseGrant,
} from "./ledger_operations.ts";

export class KvLedger implements CreditsLedger {
  readonly #store: KeyValue;
  readonly #runtime: Pick<Runtime, "clock" | "random">;
  readonly #hot: HotKeys;
  readonly #closeStore: () => Promise<void>;

  /** `close` calls `closeStore`. By default, `closeStore` leaves the store open for the caller. */
  constructor(
    store: KeyValue,
    runtime: Pick<Runtime, "clock" | "random">,
    closeStore: () => Promise<void> = () => Promise.resolve(),
  ) {
    this.#store = store;
    this.#closeStore = closeStore;
    this.#runtime = runtime;
    this.#hot = new HotKeys(store, { ...runtime, maxChanges });
  }

  async grant(account: string, amount: number, options: LedgerNote = {}): Promise<LedgerResult> {
    const given = { ...transferOf("grant", amount, options), allowNegative: false };
    const name = parseAccount(account);
    if (options.key !== undefined) {
      const key = parseLedgerKey(options.key);
      await bindGrantKey(this.#store, key, { account: name, amount: given.amount });
    }
    return await this.#transfer(name, given, options.key);
  }

  async consume(
    account: string,
    amount: number,
    options: ConsumeOptions = {},
  ): Promise<LedgerResult> {
    const { allowNegative = false, key } = options;
    const given = { ...transferOf("consume", amount, options), allowNegative };
    return await this.#transfer(parseAccount(account), given, key);
  }

  async balance(account: string): Promise<number> {
    const name = parseAccount(account);
    const state = await this.#state(name);
    const now = this.#runtime.clock.now();
    if (state.holds.every(({ expiresAt }) => expiresAt > now)) return state.balance;
    return await this.#post(name, [], ({ state }) => ({ result: state.balance, records: [] }));
  }

  async history(account: string, page: number | HistoryPage = 50): Promise<readonly LedgerEntry[]> {
    const { count, before = undefined } = typeof page === "number" ? { count: page } : page;
    const name = parseAccount(account);
    const limit = parseAmount(count, "count");
    if (limit > 1_000) throw new Problem("validation-error", "Cannot list over 1,000 entries");
    const found = await this.#store.list({
      prefix: ledgerKeys.entries(name),
      after: before === undefined
        ? undefined
        : ledgerKeys.entry(name, parseAmount(before, "before")),
      limit,
      reverse: true,
    });
    // The cast is safe, because no other code writes below this prefix.
    return found.map(({ value }) => value as LedgerEntry);
  }

  async reserve(
    account: string,
    amount: number,
    options: ReserveOptions = {},
  ): Promise<ReserveResult> {
    const { key, reason, expiresInMs = 600_000 } = options;
    const name = parseAccount(account);
    const { clock, random } = this.#runtime;
    const given = {
      id: key === undefined ? uuidV7(clock, random) : parseLedgerKey(key),
      amount: parseAmount(amount),
      lifetimeMs: parseLifetime(expiresInMs),
      reason: parseReason(reason),
    };
    const { id } = given;
    const record = ledgerKeys.reservation(name, id);
    return await this.#post(name, [record], (posting, [existing], now) => {
      const hold = { id, amount: given.amount, expiresAt: now + given.lifetimeMs };
      const done = reserveCredits(posting, hold, given.reason, asReservation(existing));
      const reservation = {
        account: name,
        id,
        amount: given.amount,
        expiresAt: new Date(done.expiresAt).toISOString(),
        state: done.state,
      };
      return {
        result: { ...done.result, reservation: done.result.ok ? reservation : null },
        // The record is kept longer than the reservation, so that a repeated call finds the record.
        records: recordMutations(record, done.record, keepMs + given.lifetimeMs),
      };
    });
  }

  async commit(
    reservation: Pick<Reservation, "account" | "id">,
    { amount }: CommitOptions = {},
  ): Promise<EndedReservation> {
    const used = amount === undefined ? null : parseAmount(amount);
    return await this.#endReservation(reservation, { state: "committed", used });
  }

  async release(reservation: Pick<Reservation, "account" | "id">): Promise<EndedReservation> {
    return await this.#endReservation(reservation, { state: "released", used: null });
  }

  async reverse(grantKey: string, options: ReverseOptions = {}): Promise<LedgerResult> {
    const { amount, key } = options;
    const given = {
      grantKey: parseLedgerKey(grantKey, "grantKey"),
      amount: amount === undefined ? null : parseAmount(amount),
      reason: parseReason(options.reason),
    };
    const own = key === undefined ? null : parseLedgerKey(key);
    const grant = await this.findGrant(grantKey);
    if (grant === null) {
      throw new Problem("not-found", "Cannot reverse this grant: there is none with this key");
    }
    const { account } = grant;
    const granted = ledgerKeys.operation(account, grantKey);
    const reversal = own === null ? null : ledgerKeys.operation(account, own);
    const reads = reversal === null ? [granted] : [granted, reversal];
    return await this.#post(account, reads, (posting, [grant, record]) => {
      const keyed = own === null ? null : { key: own, record: asOperation(record) };
      const done = reverseGrant(posting, given, keyed, asOperation(grant));
      const changed = recordMutations(granted, done.grant);
      // The record of a reversal is kept for ever, like the record of its grant.
      const kept = reversal === null ? [] : recordMutations(reversal, done.record);
      return { result: done.result, records: [...changed, ...kept] };
    });
  }

  async findGrant(grantKey: string): Promise<FoundGrant | null> {
    return await readGrant(this.#store, parseLedgerKey(grantKey, "grantKey"));
  }

  async audit(account?: string): Promise<readonly AccountAudit[]> {
    if (account !== undefined) {
      return [await auditAccount(this.#store, await this.#state(parseAccount(account)))];
    }
    const audits: AccountAudit[] = [];
    for await (const { value } of entriesBelow(this.#store, ledgerKeys.states)) {
      // The cast is safe, because no other code writes below this prefix.
      audits.push(await auditAccount(this.#store, value as AccountState));
    }
    return audits;
  }

  async close(): Promise<void> {
    await this.#closeStore();
  }

  async #transfer(
    account: string,
    given: BalanceChange,
    key: string | undefined,
  ): Promise<LedgerResult> {
    const own = key === undefined ? null : parseLedgerKey(key);
    const record = own === null ? null : ledgerKeys.operation(account, own);
    const reads = record === null ? [] : [record];
    return await this.#post(account, reads, (posting, [found]) => {
      const keyed = own === null ? null : { key: own, record: asOperation(found) };
      const done = changeBalance(posting, given, keyed);
      const lifetime = given.kind === "grant" ? undefined : keepMs;
      return {
        result: done.result,
        records: record === null ? [] : recordMutations(record, done.record, lifetime),
      };
    });
  }

  async #endReservation(
    reservation: Pick<Reservation, "account" | "id">,
    end: Omit<ReservationEnd, "id">,
  ): Promise<EndedReservation> {
    const account = parseAccount(reservation.account);
    const id = parseLedgerKey(reservation.id, "id");
    const record = ledgerKeys.reservation(account, id);
    return await this.#post(account, [record], (posting, [existing]) => {
      const done = endReservation(posting, { id, ...end }, asReservation(existing));
      return { result: done.result, records: recordMutations(record, done.record, keepMs) };
    });
  }

  #post<Result>(
    account: string,
    reads: readonly KeyValueKey[],
    post: (posting: Entries, relatedValues: readonly unknown[], now: number) => {
      readonly result: Result;
      readonly records: readonly KeyValueMutation[];
    },
  ): Promise<Result> {
    return this.#hot.update(ledgerKeys.state(account), (value, relatedValues) => {
      const now = this.#runtime.clock.now();
      const before = decodeAccountState(account, value);
      const posting = new Entries(before, now);
      const expired = expireReservations(posting, now).flatMap(([id, record]) =>
        recordMutations(ledgerKeys.reservation(account, id), record, keepMs)
      );
      const { result, records } = post(posting, relatedValues, now);
      if (posting.state === before) return { result };
      const entries = posting.entries.map((entry): KeyValueMutation => ({
        kind: "set",
        key: ledgerKeys.entry(account, entry.seq),
        value: entry,
      }));
      return {
        result,
        record: { value: posting.state },
        // The entries come first. If the response to the commit is lost, the store is asked
        // for the first of these changes. If it exists, the commit has succeeded.
        relatedMutations: [...entries, ...expired, ...records],
      };
    }, reads);
  }

  async #state(account: string): Promise<AccountState> {
    return decodeAccountState(account, (await this.#store.get(ledgerKeys.state(account))).value);
  }
}

/** Maximum number of changes in one commit: about half of what the store allows. */
const maxChanges = 128;

/** How long keys of consumptions and of ended reservations are kept, in milliseconds. */
const keepMs = 35 * 86_400_000;

function transferOf(
  kind: BalanceChange["kind"],
  amount: number,
  { reason }: LedgerNote,
): Omit<BalanceChange, "allowNegative"> {
  return { kind, amount: parseAmount(amount), reason: parseReason(reason) };
}

async function readGrant(store: KeyValue, key: string): Promise<FoundGrant | null> {
  const { value } = await store.get(ledgerKeys.grant(key));
  // The cast is safe, because no other code writes this key.
  return value === undefined ? null : value as FoundGrant;
}

/** Binds a key to its first grant: a second event of a payment can name a different account. */
async function bindGrantKey(store: KeyValue, key: string, grant: FoundGrant): Promise<void> {
  let found = await readGrant(store, key);
  if (found === null) {
    const at = ledgerKeys.grant(key);
    const { ok } = await store.commit({
      checks: [{ key: at, versionstamp: null }],
      mutations: [{ kind: "set", key: at, value: grant }],
      claim: at,
    });
    found = ok ? grant : await readGrant(store, key) ?? grant;
  }
  if (found.account === grant.account && found.amount === grant.amount) return;
  throw new Problem(
    "idempotency-key-reused",
    "This key of the ledger was used for a grant to another account, or of another amount",
  );
}
