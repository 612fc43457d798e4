/**
 * A position in the change log: how far a reader has come, who has read every change that the
 * position covers. Valid in every process that serves the same database; clients hold its text,
 * which {@link printPosition} makes.
 */
export type Position = SequencePosition | SnapshotPosition;

/**
 * A position in the change log of SQLite: numbers are drawn under the one write lock, so that their
 * order is that of commits.
 */
export interface SequencePosition {
  /** Distinguishes it from the other form. */
  readonly kind: "sequence";
  /** The epoch of the log that it belongs to: a number of another epoch means nothing. */
  readonly epoch: string;
  /** The last change that is covered. */
  readonly seq: number;
  /** The mark of that change, by which it differs from the one that another history numbers so. */
  readonly mark: number;
}

/**
 * A position in the change log of Postgres: the transactions that a snapshot sees. Numbers are
 * drawn before commits there.
 */
export interface SnapshotPosition {
  /** Distinguishes it from the other form. */
  readonly kind: "snapshot";
  /** The epoch of the log that it belongs to. */
  readonly epoch: string;
  /** Every transaction below is covered. */
  readonly xmin: bigint;
  /** No transaction from here on is covered. */
  readonly xmax: bigint;
  /** Transactions between the two that were running, and are not covered. Ascending. */
  readonly running: readonly bigint[];
}

/**
 * Prints a position in the change log as text: `s.<epoch>.<seq>.<mark>` or
 * `p.<epoch>.<xmin>.<xmax>[.<running>]`.
 */
export function printPosition(position: Position): string {
  if (position.kind === "sequence") {
    return `s.${position.epoch}.${position.seq}.${position.mark.toString(36)}`;
  }
  const { epoch, xmin, xmax, running } = position;
  const parts = ["p", epoch, xmin.toString(36), xmax.toString(36)];
  if (running.length > 0) {
    parts.push(gaps(running, xmin).map((gap) => gap.toString(36)).join("-"));
  }
  return parts.join(".");
}

/**
 * Parses the text of a position in the change log; null for a string that {@link printPosition} would
 * not have written.
 */
export function parsePosition(token: string): Position | null {
  if (token.length > maxTokenLength) return null;
  const position = parseSequence(token) ?? parseSnapshot(token);
  return position !== null && printPosition(position) === token ? position : null;
}

/** Returns true if a position in the change log covers a change of the same epoch. */
export function covers(position: Position, change: ChangeNumbers): boolean {
  if (position.kind === "sequence") return change.seq <= position.seq;
  return change.transaction !== null && sees(position, change.transaction);
}

/**
 * The position in the change log right after a change that follows `position`; null if there is
 * no position between the changes of a step.
 */
export function positionAfter(position: Position, change: ChangeNumbers): Position | null {
  const { seq, mark } = change;
  return position.kind === "sequence" && mark !== null ? { ...position, seq, mark } : null;
}

/** Returns true if one position in the change log covers all that an `earlier` one covers. */
export function includes(position: Position, earlier: Position): boolean {
  if (position.epoch !== earlier.epoch) return false;
  if (position.kind === "sequence") {
    if (earlier.kind !== "sequence") return false;
    return position.seq > earlier.seq ||
      (position.seq === earlier.seq && position.mark === earlier.mark);
  }
  return earlier.kind === "snapshot" && position.xmax >= earlier.xmax &&
    position.running.every((xid) => !sees(earlier, xid));
}

/**
 * A position in the change log as a number: a position that covers more has a greater one, in every
 * process that serves the database. The numbers of changes are not usable for that where they are
 * drawn before commits.
 */
export function positionOrdinal(position: Position): number {
  if (position.kind === "sequence") return position.seq;
  // The number of transactions that have ended, which only grows.
  return Number(position.xmax) - position.running.length;
}

/** Makes a position in the change log from the text of a `pg_snapshot`: `xmin:xmax:xip,xip`. */
export function snapshotPosition(text: string, epoch: string): SnapshotPosition {
  const [xmin = "", xmax = "", running = ""] = text.split(":");
  return {
    kind: "snapshot",
    epoch,
    xmin: BigInt(xmin),
    xmax: BigInt(xmax),
    running: running === "" ? [] : running.split(",").map(BigInt),
  };
}

/** Prints a position in the change log as the text of a `pg_snapshot`. */
export function snapshotText({ xmin, xmax, running }: SnapshotPosition): string {
  return `${xmin}:${xmax}:${running.join(",")}`;
}

/** The numbers of a change that decide where it stands in the log. */
interface ChangeNumbers {
  readonly seq: number;
  readonly transaction: bigint | null;
  readonly mark: number | null;
}

/** Enough for thousands of running transactions, and a header may be as long. */
const maxTokenLength = 8_000;

const sequenceToken = /^s\.([0-9a-f]{16})\.(\d{1,16})\.([0-9a-z]{1,10})$/;
const snapshotToken = /^p\.([0-9a-f]{16})\.([0-9a-z]{1,13})\.([0-9a-z]{1,13})(?:\.([0-9a-z-]+))?$/;

function parseSequence(token: string): SequencePosition | null {
  const [, epoch, digits, markDigits = ""] = sequenceToken.exec(token) ?? [];
  const seq = Number(digits);
  if (epoch === undefined || !Number.isSafeInteger(seq)) return null;
  return { kind: "sequence", epoch, seq, mark: parseInt(markDigits, 36) };
}

function parseSnapshot(token: string): SnapshotPosition | null {
  const [, epoch, low = "", high = "", rest] = snapshotToken.exec(token) ?? [];
  if (epoch === undefined) return null;
  const [xmin, xmax] = [fromBase36(low), fromBase36(high)];
  const running: bigint[] = [];
  let last = xmin;
  for (const gap of rest?.split("-") ?? []) {
    last += fromBase36(gap);
    running.push(last);
  }
  // A server refuses a snapshot whose numbers are not in order.
  const isOrdered = xmin > 0n && xmin <= xmax && xmax < largestXid && last <= xmax &&
    running.every((xid, index) => xid < xmax && (index === 0 || xid > (running[index - 1] ?? 0n)));
  return isOrdered ? { kind: "snapshot", epoch, xmin, xmax, running } : null;
}

const largestXid = 2n ** 63n;

/** Digit by digit, because nothing built in parses a bigint in base 36. */
function fromBase36(text: string): bigint {
  let value = 0n;
  for (const digit of text.slice(0, 13)) value = value * 36n + BigInt(parseInt(digit, 36));
  return value;
}

function gaps(running: readonly bigint[], xmin: bigint): bigint[] {
  return running.map((xid, index) => xid - (running[index - 1] ?? xmin));
}

function sees({ xmin, xmax, running }: SnapshotPosition, xid: bigint): boolean {
  return xid < xmin || (xid < xmax && !running.includes(xid));
}
