import { Problem } from "../../problem/problem.ts";
import type { OpenHold, Posting } from "./account_state.ts";
import type { LedgerEntry } from "./ledger_entry.ts";

/** The result of a ledger operation: where it is not `ok`, nothing was changed. */
export interface LedgerResult {
  /** False where the balance did not suffice. */
  readonly ok: boolean;
  /** The balance right after this operation, or the one that did not suffice. */
  readonly balance: number;
  /** True if it was done before, under the same key: nothing was changed by this call. */
  readonly replayed: boolean;
}

/** What became of a reservation. */
export type ReservationState = "open" | "committed" | "released" | "expired";

/** The result of the end of a reservation. */
export interface EndedReservation extends LedgerResult {
  /** What became of it; where it is not what was asked for, `ok` is false. */
  readonly state: ReservationState;
}

/** What an operation with an idempotency key did, as it is stored. */
export interface OperationRecord {
  /** The operation with its amount: the same key is refused for another one. */
  readonly fingerprint: string;
  readonly entry: LedgerEntry;
  /** Of a grant: how much of it was reversed. */
  readonly reversed: number;
}

/** A reservation, as it is stored. */
export interface ReservationRecord {
  readonly amount: number;
  /** The balance right after it was made. */
  readonly balance: number;
  readonly expiresAt: number;
  readonly state: ReservationState;
}

/** The idempotency key of an operation, and what is stored under it; null for none. */
export interface Keyed {
  readonly key: string;
  readonly record: OperationRecord | undefined;
}

/** What an operation did: its result, and the record to store under its key. */
export interface Outcome {
  readonly result: LedgerResult;
  readonly record: OperationRecord | null;
}

/** An addition to or subtraction from the balance, at once. */
export interface Transfer {
  readonly kind: "grant" | "consume";
  readonly amount: number;
  readonly reason: string | undefined;
  /** True if a consumption may leave the balance negative. */
  readonly allowNegative: boolean;
}

/** Grants or consumes credits. */
export function transfer(posting: Posting, given: Transfer, keyed: Keyed | null): Outcome {
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

/** The part of a grant that is to be reversed: `amount`, or all that is left of it. */
export interface Reversal {
  readonly grantKey: string;
  readonly amount: number | null;
  readonly reason: string | undefined;
}

/** A reversal's outcome, and the record of the grant that it changes. */
export interface ReversalOutcome extends Outcome {
  readonly grant: OperationRecord | null;
}

/** Takes granted credits back, also those that were consumed: the balance may become negative. */
export function reverse(
  posting: Posting,
  given: Reversal,
  keyed: Keyed | null,
  grant: OperationRecord | undefined,
): ReversalOutcome {
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
  return {
    ...recorded(entry, keyed === null ? null : fingerprint),
    grant: { ...grant, reversed },
  };
}

/** The result of a reservation, and its record. */
export interface ReserveOutcome {
  readonly result: LedgerResult;
  readonly expiresAt: number;
  readonly state: ReservationState;
  readonly record: ReservationRecord | null;
}

/**
 * Sets credits aside; an existing reservation with the same id and amount is the same one, whatever
 * became of it.
 */
export function reserve(
  posting: Posting,
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

/** How a reservation is to end. */
export interface ReservationEnd {
  readonly id: string;
  readonly state: "committed" | "released";
  /** How much a commit uses of it; null for all. */
  readonly used: number | null;
}

/** The result of the end of a reservation, and its record. */
export interface EndOutcome {
  readonly result: EndedReservation;
  readonly record: ReservationRecord | null;
}

/** Ends a reservation: keeps what was used of it, and returns the rest. */
export function endReservation(
  posting: Posting,
  { id, state, used }: ReservationEnd,
  existing: ReservationRecord | undefined,
): EndOutcome {
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
  return {
    result: { ok: true, balance, replayed: false, state },
    record: recordOf(hold, state),
  };
}

/** Returns the credits of reservations whose time is over; gives their records by id. */
export function expire(
  posting: Posting,
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

/** How a reservation ended that is not open: what has just expired is still stored as open. */
function endOf({ state }: ReservationRecord): ReservationState {
  return state === "open" ? "expired" : state;
}

/** The state of an account lists its open reservations, and is one record. */
const maxHolds = 100;

function replayed(keyed: Keyed | null, fingerprint: string): Outcome | null {
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

function refused(balance: number): Outcome {
  return { result: { ok: false, balance, replayed: false }, record: null };
}

function recorded(entry: LedgerEntry, fingerprint: string | null): Outcome {
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
