import { assert, assertEquals } from "@std/assert";
import { KvLedger } from "../../src/billing/ledger/kv_ledger.ts";
import type { Reservation } from "../../src/billing/ledger/credits_ledger.ts";
import { ledgerKeys } from "../../src/billing/ledger/ledger_keys.ts";
import type { LedgerEntry } from "../../src/billing/ledger/ledger_entry.ts";
import type { KeyValue } from "../../src/kv/key_value.ts";
import { StoreError } from "../../src/kv/store_error.ts";
import { Problem } from "../../src/problem/problem.ts";
import { systemRuntime } from "../../src/runtime/system_runtime.ts";

export interface LedgerCheck {
  readonly store: KeyValue;
  readonly operations: number;
  readonly callers: number;
  readonly seed: number;
}

/** What a caller was answered, by the entry that it must have made. */
interface Answered {
  readonly kind: string;
  readonly amount: number;
  readonly balance: number;
}

const accounts = ["ada", "bob", "cid", "dot"];

/**
 * Runs random operations at once, each keyed and repeated until the store answers. Then the entries
 * of each account must be those that the callers were answered, one each, in an order in which the
 * model, a plain sum that refuses overdrafts, gives every answer.
 */
export async function checkLedger({ store, operations, callers, seed }: LedgerCheck) {
  const ledger = new KvLedger(store, systemRuntime(() => {}));
  const answered = new Map(accounts.map((account) => [account, new Map<string, Answered>()]));
  let left = operations;
  await Promise.all(Array.from({ length: callers }, async (_, caller) => {
    const next = randomOf(seed * 1_000 + caller);
    const open: Reservation[] = [];
    for (let n = 0; left-- > 0; n++) {
      const account = accounts[Math.floor(next() * accounts.length)] ?? "ada";
      await operate({ ledger, store, account, open, next, key: `${caller}:${n}`, answered });
    }
  }));
  for (const account of accounts) {
    const entries = await allEntries(ledger, store, account);
    const mine = answered.get(account) ?? new Map<string, Answered>();
    assertEquals(entries.length, mine.size, `${account}: an entry for each answer`);
    let [balance, seq] = [0, 0];
    for (const entry of entries) {
      const { amount, kind } = entry;
      const known = mine.get(nameOf(entry));
      assertEquals(known, { kind, amount, balance: balance + amount }, `${account} ${seq}`);
      assertEquals([entry.seq, entry.balance], [++seq, balance += amount]);
      const isRefusable = kind === "consume" || kind === "reserve";
      assert(!isRefusable || balance >= 0, `${account}: an overdraft at ${seq}`);
    }
    assertEquals(await untilAnswered(() => ledger.balance(account)), balance);
    if (operations > 10_000) continue;
    // It folds the same entries once more.
    const [audit] = await untilAnswered(() => ledger.audit(account));
    assertEquals(audit?.faults, []);
  }
}

interface Step {
  readonly ledger: KvLedger;
  readonly store: KeyValue;
  readonly account: string;
  readonly open: Reservation[];
  readonly next: () => number;
  readonly key: string;
  readonly answered: ReadonlyMap<string, Map<string, Answered>>;
}

async function operate(step: Step): Promise<void> {
  const { ledger, account, open, next, key, answered } = step;
  const amount = 1 + Math.floor(next() * 20);
  const note = (of: string, name: string, answer: Answered) => {
    const names = answered.get(of);
    assert(names !== undefined && !names.has(name), `${name} is answered once`);
    names.set(name, answer);
  };
  // An account has at most 100 open reservations, those of all callers together.
  const dice = open.length >= 3 ? 0.8 + next() / 5 : next();
  const held = open[0];
  if (dice < 0.3) {
    const { balance } = await untilAnswered(() => ledger.grant(account, amount, { key }));
    note(account, `grant ${key}`, { kind: "grant", amount, balance });
  } else if (dice < 0.6) {
    const { ok, balance } = await untilAnswered(() => ledger.consume(account, amount, { key }));
    if (ok) note(account, `consume ${key}`, { kind: "consume", amount: -amount, balance });
    else assert(balance < amount, "refused although it would suffice");
  } else if (dice < 0.8 || held === undefined) {
    const done = await untilAnswered(() => ledger.reserve(account, amount, { key }));
    if (done.reservation === null) return;
    open.push(done.reservation);
    // Also where the first try was done and not answered.
    note(account, `reserve ${key}`, { kind: "reserve", amount: -amount, balance: done.balance });
  } else {
    open.shift();
    const kind = dice < 0.9 ? "commit" : "release";
    const used = Math.max(1, held.amount - 2);
    const done = await untilAnswered(() =>
      kind === "commit" ? ledger.commit(held, { amount: used }) : ledger.release(held)
    );
    assert(done.ok);
    const { id, account } = held;
    const balance = done.replayed ? await balanceAt(step, account, id, kind) : done.balance;
    const returned = kind === "commit" ? held.amount - used : held.amount;
    note(account, `${kind} ${id}`, { kind, amount: returned, balance });
  }
}

function nameOf({ kind, key, reservation }: LedgerEntry): string {
  return `${kind} ${key ?? reservation}`;
}

async function balanceAt({ ledger, store }: Step, account: string, id: string, kind: string) {
  const entries = await allEntries(ledger, store, account);
  const found = entries.filter((entry) => entry.reservation === id && entry.kind === kind);
  assertEquals(found.length, 1);
  return found[0]?.balance ?? NaN;
}

/** The oldest first; by their keys, since a list of the store in memory visits all records. */
async function allEntries(ledger: KvLedger, store: KeyValue, account: string) {
  const [last] = await untilAnswered(() => ledger.history(account, 1));
  const entries: LedgerEntry[] = [];
  for (let seq = 0, end = last?.seq ?? 0; seq < end;) {
    // Few at a time: over a store with faults a long read never succeeds.
    const keys = Array.from(
      { length: Math.min(50, end - seq) },
      () => ledgerKeys.entry(account, ++seq),
    );
    const found = await untilAnswered(() => store.getMany(keys));
    entries.push(...found.map(({ value }) => value as LedgerEntry));
  }
  return entries;
}

/** What a careful caller does: repeats an operation with its key. */
export async function untilAnswered<T>(work: () => Promise<T>): Promise<T> {
  for (;;) {
    try {
      return await work();
    } catch (error) {
      if (error instanceof Problem || !(error instanceof StoreError)) throw error;
    }
  }
}

/** The generator mulberry32: numbers from 0 to 1, the same for a seed. */
export function randomOf(seed: number): () => number {
  let state = seed;
  return () => {
    state = (state + 0x6d2b79f5) | 0;
    let t = Math.imul(state ^ (state >>> 15), 1 | state);
    t = (t + Math.imul(t ^ (t >>> 7), 61 | t)) ^ t;
    return ((t ^ (t >>> 14)) >>> 0) / 2 ** 32;
  };
}
