import type { Change, Position, SequencePosition, SnapshotPosition } from "./change_log.ts";

/** The resume token of a position: `s.<epoch>.<seq>` or `p.<epoch>.<xmin>.<xmax>[.<running>]`. */
export function printPosition(position: Position): string {
  if (position.kind === "sequence") return `s.${position.epoch}.${position.seq}`;
  const { epoch, xmin, xmax, running } = position;
  const parts = ["p", epoch, xmin.toString(36), xmax.toString(36)];
  if (running.length > 0) {
    parts.push(steps(running, xmin).map((step) => step.toString(36)).join("-"));
  }
  return parts.join(".");
}

/** The position of a token; null for whatever {@link printPosition} would not have written. */
export function parsePosition(token: string): Position | null {
  if (token.length > maxTokenLength) return null;
  const position = parseSequence(token) ?? parseSnapshot(token);
  return position !== null && printPosition(position) === token ? position : null;
}

/** Whether a position covers a change of the same life of the log. */
export function covers(position: Position, change: Change): boolean {
  if (position.kind === "sequence") return change.seq <= position.seq;
  return change.transaction !== null && sees(position, change.transaction);
}

/**
 * The position right behind a change that follows `position` in the log; null where a position
 * cannot stand between the changes of a step.
 */
export function positionAfter(position: Position, change: Change): Position | null {
  return position.kind === "sequence" ? { ...position, seq: change.seq } : null;
}

/** Whether `position` covers all that `earlier` covers. */
export function includes(position: Position, earlier: Position): boolean {
  if (position.epoch !== earlier.epoch) return false;
  if (position.kind === "sequence") {
    return earlier.kind === "sequence" && position.seq >= earlier.seq;
  }
  return earlier.kind === "snapshot" && position.xmax >= earlier.xmax &&
    position.running.every((xid) => !sees(earlier, xid));
}

/**
 * How far a position is, as a number: whoever covers more has a greater one, in every process that
 * serves the database. The numbers of changes cannot serve for that where they are drawn before
 * commits.
 */
export function positionOrdinal(position: Position): number {
  if (position.kind === "sequence") return position.seq;
  // The transactions that have ended. None of them ever runs again, so there are only more.
  return Number(position.xmax) - position.running.length;
}

/** Reads what Postgres writes: `xmin:xmax:xip,xip`. */
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

/** The same as Postgres reads it. */
export function snapshotText({ xmin, xmax, running }: SnapshotPosition): string {
  return `${xmin}:${xmax}:${running.join(",")}`;
}

/** Thousands of transactions at once; a header may hold as much. */
const maxTokenLength = 8_000;

const sequenceToken = /^s\.([0-9a-f]{16})\.(\d{1,16})$/;
const snapshotToken = /^p\.([0-9a-f]{16})\.([0-9a-z]{1,13})\.([0-9a-z]{1,13})(?:\.([0-9a-z-]+))?$/;

function parseSequence(token: string): SequencePosition | null {
  const [, epoch, digits] = sequenceToken.exec(token) ?? [];
  const seq = Number(digits);
  if (epoch === undefined || !Number.isSafeInteger(seq)) return null;
  return { kind: "sequence", epoch, seq };
}

function parseSnapshot(token: string): SnapshotPosition | null {
  const [, epoch, low = "", high = "", rest] = snapshotToken.exec(token) ?? [];
  if (epoch === undefined) return null;
  const [xmin, xmax] = [fromBase36(low), fromBase36(high)];
  const running: bigint[] = [];
  let last = xmin;
  for (const step of rest?.split("-") ?? []) {
    last += fromBase36(step);
    running.push(last);
  }
  // A server reads none but those in which each number has its place.
  const isOrdered = xmin > 0n && xmin <= xmax && xmax < largestXid && last <= xmax &&
    running.every((xid, index) => xid < xmax && (index === 0 || xid > (running[index - 1] ?? 0n)));
  return isOrdered ? { kind: "snapshot", epoch, xmin, xmax, running } : null;
}

const largestXid = 2n ** 63n;

/** Digits one by one: there is no parser of a bigint in base 36. */
function fromBase36(text: string): bigint {
  let value = 0n;
  for (const digit of text.slice(0, 13)) value = value * 36n + BigInt(parseInt(digit, 36));
  return value;
}

function steps(running: readonly bigint[], xmin: bigint): bigint[] {
  return running.map((xid, index) => xid - (running[index - 1] ?? xmin));
}

function sees({ xmin, xmax, running }: SnapshotPosition, xid: bigint): boolean {
  return xid < xmin || (xid < xmax && !running.includes(xid));
}
