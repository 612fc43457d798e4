import { Problem } from "../../problem/problem.ts";
import type { Entries, OpenHold } from "./account_state.ts";
import type { LedgerEntry } from "./ledger_entry.ts";

/** The result of an operation of the ledger. If `ok` is false, nothing was changed. */
export interface LedgerResult {
  /** False if the balance was too low for the operation. */
  readonly ok: boolean;
  /** The balance after the operation, or the balance that was too low. */
  readonly balance: number;
  /** True if an earlier call with the same key did the work, so that this call changed nothing. */
  readonly replayed: boolean;
}

/** The state of a reservation. */
export type ReservationState = "open" | "committed" | "released" | "expired";

/** The result of committing or releasing a reservation. */
export interface EndedReservation extends LedgerResult {
  /** The state after the call. It differs from the requested state if `ok` is false. */
  readonly state: ReservationState;
}

export interface OperationRecord {
  /** Identifies the operation and its amount. Calls with one key must have one fingerprint. */
  readonly fingerprint: string;
  readonly entry: LedgerEntry;
  readonly reversed: number;
}

export interface ReservationRecord extends Omit<OpenHold, "id"> {
  readonly state: ReservationState;
}

export interface KeyedRecord {
  readonly key: string;
  readonly record: OperationRecord | undefined;
}

export interface OperationOutcome {
  readonly result: LedgerResult;
  readonly record: OperationRecord | null;
}

export interface BalanceChange {
  readonly kind: "grant" | "consume";
  readonly amount: number;
  readonly reason: string | undefined;
  readonly allowNegative: boolean;
}

export function changeBalance(
  posting: Entries,
  given: BalanceChange,
  keyed: KeyedRecord | null,
): OperationOutcome {
  const { kind, amount, reason, allowNegative } = given;
  const fingerprint = `${kind} ${amount}`;
  const done = replayed(keyed, fingerprint);
  if (done !== null) return done;
  const { balance } = posting.state;
  if (kind === "consume" && !allowNegative && balance < amount) return refused(balance);
  const change = kind === "grant" ? amount : -amount;
  return recorded(
    posting.post({ kind, amount: change, ...textsOf(reason, keyed) }),
    keyed === null ? null : fingerprint,
  );
}

export function reverseGrant(
  posting: Entries,
  given: {
    readonly grantKey: string;
    readonly amount: number | null;
    readonly reason: string | undefined;
  },
  keyed: KeyedRecord | null,
  grant: OperationRecord | undefined,
) {
  if (grant === undefined || grant.entry.kind !== "grant") {
    throw new Problem("not-found", "Cannot reverse this grant: there is none with this key");
  }
  const fingerprint = `reverse ${given.amount ?? "all"} ${given.grantKey}`;
  const done = replayed(keyed, fingerprint);
  if (done !== null) return { ...done, grant: null };
  const left = grant.entry.amount - grant.reversed;
  const amount = given.amount ?? left;
  if (amount > left) {
    throw new Problem("conflict", `Cannot reverse ${amount} of this grant: ${left} are left of it`);
  }
  if (amount === 0) {
    const { balance } = posting.state;
    return { result: { ok: true, balance, replayed: true }, record: null, grant: null };
  }
  const entry = posting.post({
    kind: "reverse",
    amount: -amount,
    ...textsOf(given.reason, { key: given.grantKey }),
  });
  const reversed = grant.reversed + amount;
  return { ...recorded(entry, keyed === null ? null : fingerprint), grant: { ...grant, reversed } };
}

export interface ReserveOutcome {
  readonly result: LedgerResult;
  readonly expiresAt: number;
  readonly state: ReservationState;
  readonly record: ReservationRecord | null;
}

export function reserveCredits(
  posting: Entries,
  wanted: Omit<OpenHold, "balance">,
  reason: string | undefined,
  existing: ReservationRecord | undefined,
): ReserveOutcome {
  const { balance, holds } = posting.state;
  const { id, amount, expiresAt } = wanted;
  if (existing !== undefined) {
    if (existing.amount !== amount) throw reused();
    const isOpen = holds.some((one) => one.id === id);
    return {
      result: { ok: true, balance: existing.balance, replayed: true },
      expiresAt: existing.expiresAt,
      state: isOpen ? "open" : endOf(existing),
      record: null,
    };
  }
  if (balance < amount) {
    return { result: refused(balance).result, expiresAt, state: "open", record: null };
  }
  if (holds.length >= maxHolds) {
    throw new Problem(
      "conflict",
      `Cannot reserve these credits: the account has ${maxHolds} open reservations`,
    );
  }
  const entry = posting.post({
    kind: "reserve",
    amount: -amount,
    ...textsOf(reason, null),
    reservation: id,
  });
  posting.hold([...holds, { ...wanted, balance: entry.balance }]);
  return {
    result: { ok: true, balance: entry.balance, replayed: false },
    expiresAt,
    state: "open",
    record: { amount, balance: entry.balance, expiresAt, state: "open" },
  };
}

export interface ReservationEnd {
  readonly id: string;
  readonly state: "committed" | "released";
  readonly used: number | null;
}

export function endReservation(
  posting: Entries,
  { id, state, used }: ReservationEnd,
  existing: ReservationRecord | undefined,
) {
  const { holds } = posting.state;
  const hold = holds.find((one) => one.id === id);
  if (hold === undefined) {
    if (existing === undefined) {
      throw new Problem("not-found", "Cannot end this reservation: there is none with this id");
    }
    const found = endOf(existing);
    const { balance } = posting.state;
    const result = { ok: found === state, balance, replayed: true, state: found };
    return { result, record: null };
  }
  const spent = state === "released" ? 0 : used ?? hold.amount;
  if (spent > hold.amount) {
    throw new Problem(
      "conflict",
      `Cannot commit ${spent} of this reservation: it holds ${hold.amount}`,
    );
  }
  posting.hold(holds.filter((one) => one !== hold));
  const kind = state === "committed" ? "commit" : "release";
  const { balance } = posting.post({ kind, amount: hold.amount - spent, reservation: id });
  return { result: { ok: true, balance, replayed: false, state }, record: recordOf(hold, state) };
}

export function expireReservations(
  posting: Entries,
  now: number,
): readonly (readonly [id: string, ReservationRecord])[] {
  const { holds } = posting.state;
  const over = holds.filter(({ expiresAt }) => expiresAt <= now);
  if (over.length === 0) return [];
  posting.hold(holds.filter(({ expiresAt }) => expiresAt > now));
  return over.map((hold) => {
    const { id, amount } = hold;
    posting.post({ kind: "expire", amount, reservation: id });
    return [id, recordOf(hold, "expired")] as const;
  });
}

function recordOf(
  { amount, balance, expiresAt }: OpenHold,
  state: ReservationState,
): ReservationRecord {
  return { amount, balance, expiresAt, state };
}

/** Returns how a reservation ended. If its record is still `open`, the reservation expired. */
function endOf({ state }: ReservationRecord): ReservationState {
  return state === "open" ? "expired" : state;
}

/** Maximum number of open reservations of an account, because one record contains all of them. */
const maxHolds = 100;

function replayed(keyed: KeyedRecord | null, fingerprint: string): OperationOutcome | null {
  const record = keyed?.record;
  if (record === undefined) return null;
  if (record.fingerprint !== fingerprint) throw reused();
  const { balance } = record.entry;
  return { result: { ok: true, balance, replayed: true }, record: null };
}

function reused(): Problem {
  return new Problem(
    "idempotency-key-reused",
    "This key of the ledger was used for another operation, amount or account: take a new key",
  );
}

function refused(balance: number): OperationOutcome {
  return { result: { ok: false, balance, replayed: false }, record: null };
}

function recorded(entry: LedgerEntry, fingerprint: string | null): OperationOutcome {
  return {
    result: { ok: true, balance: entry.balance, replayed: false },
    record: fingerprint === null ? null : { fingerprint, entry, reversed: 0 },
  };
}

function textsOf(
  reason: string | undefined,
  keyed: { readonly key: string } | null,
): { readonly reason?: string; readonly key?: string } {
  return {
    ...(reason === undefined ? {} : { reason }),
    ...(keyed === null ? {} : { key: keyed.key }),
  };
}
