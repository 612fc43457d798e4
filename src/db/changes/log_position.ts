/** A reader at a position has read every change that the position covers. */
export type Position = SequencePosition | SnapshotPosition;

/** A position in SQLite's change log, in which changes have numbers in the order of commits. */
export interface SequencePosition {
  readonly kind: "sequence";
  /** The epoch (the lifetime of one log). In another epoch, the same `seq` is another change. */
  readonly epoch: string;
  readonly seq: number;
  /** The random number of change `seq`. After a restore, another change can have the same `seq`. */
  readonly mark: number;
}

/** A position in Postgres's log: a snapshot, because changes are numbered before their commit. */
export interface SnapshotPosition {
  readonly kind: "snapshot";
  readonly epoch: string;
  /** Every transaction below this id is covered. */
  readonly xmin: bigint;
  /** No transaction from this id on is covered. */
  readonly xmax: bigint;
  /** Transactions from `xmin` to `xmax` that are not covered, because they were running; sorted. */
  readonly running: readonly bigint[];
}

/** Returns a position as `s.<epoch>.<seq>.<mark>` or `p.<epoch>.<xmin>.<xmax>[.<running>]`. */
export function printLogPosition(position: Position): string {
  if (position.kind === "sequence") {
    return `s.${position.epoch}.${position.seq}.${position.mark.toString(36)}`;
  }
  const { epoch, xmin, xmax, running } = position;
  const parts = ["p", epoch, xmin.toString(36), xmax.toString(36)];
  if (running.length > 0) parts.push(gaps(running, xmin).map((gap) => gap.toString(36)).join("-"));
  return parts.join(".");
}

/** Parses a position. Returns null for a string that {@link printLogPosition} never returns. */
export function parseLogPosition(token: string): Position | null {
  if (token.length > maxTokenLength) return null;
  const position = parseSequence(token) ?? parseSnapshot(token);
  return position !== null && printLogPosition(position) === token ? position : null;
}

export function coversChange(position: Position, change: ChangeNumbers): boolean {
  if (position.kind === "sequence") return change.seq <= position.seq;
  return change.transaction !== null && sees(position, change.transaction);
}

/** Returns the position directly after a change, or null if positions are snapshots. */
export function positionAfter(position: Position, change: ChangeNumbers): Position | null {
  const { seq, mark } = change;
  return position.kind === "sequence" && mark !== null ? { ...position, seq, mark } : null;
}

/** Returns true if a position certainly covers every change that `earlier` covers. */
export function coversPosition(position: Position, earlier: Position): boolean {
  if (position.epoch !== earlier.epoch) return false;
  if (position.kind === "sequence") {
    if (earlier.kind !== "sequence") return false;
    return position.seq > earlier.seq ||
      (position.seq === earlier.seq && position.mark === earlier.mark);
  }
  return earlier.kind === "snapshot" && position.xmax >= earlier.xmax &&
    position.running.every((xid) => !sees(earlier, xid));
}

/** Returns a number to compare positions. On Postgres, changes do not commit in `seq` order. */
export function logPositionOrdinal(position: Position): number {
  if (position.kind === "sequence") return position.seq;
  // The number of transactions that have ended. This number only grows.
  return Number(position.xmax) - position.running.length;
}

/** Returns the position of a `pg_snapshot` in text form: `xmin:xmax:xip,xip`. */
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

export function snapshotText({ xmin, xmax, running }: SnapshotPosition): string {
  return `${xmin}:${xmax}:${running.join(",")}`;
}

interface ChangeNumbers {
  readonly seq: number;
  readonly transaction: bigint | null;
  readonly mark: number | null;
}

/** The maximum length of a position. It allows many running transactions, and fits a header. */
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
  // Postgres rejects a snapshot whose numbers are not in order.
  const isOrdered = xmin > 0n && xmin <= xmax && xmax < largestXid && last <= xmax &&
    running.every((xid, index) => xid < xmax && (index === 0 || xid > (running[index - 1] ?? 0n)));
  return isOrdered ? { kind: "snapshot", epoch, xmin, xmax, running } : null;
}

const largestXid = 2n ** 63n;

/** Parses digit by digit, because no built-in function parses a bigint in base 36. */
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
