import { allRows, comparison, type Filter } from "../../filter/filter.ts";
import { equalOperator } from "../../filter/operators/value_operators.ts";
import type { Assignments } from "../../plan/plan.ts";
import {
  compareInstants,
  epochSecond,
  fractionOf,
  instantFromEpoch,
  instantOf,
  isInstant,
} from "../../schema/instant.ts";
import type { Row } from "../../schema/table_info.ts";
import type { Resource } from "../model/resource.ts";

/**
 * The condition that a row still has the version of `current`, which was read before
 * (compare-and-swap); every row where it was not.
 */
export function sameVersion(current: Row | null, { etag }: Resource): Filter {
  const field = etag?.versionField ?? etag?.updatedAtField ?? null;
  const value = field === null ? null : current?.[field.name] ?? null;
  return field === null || value === null ? allRows : comparison(equalOperator, field, [value]);
}

/**
 * The values of an update with the row's next version, unless they hold one, and the time of
 * update. `current` is the stored row, locked, so that two writers cannot count from the same
 * version.
 */
export function withNextVersion(
  set: Assignments,
  current: Row | null,
  resource: Resource,
): Assignments {
  const field = resource.etag?.versionField ?? null;
  if (field === null || current === null || set.has(field)) {
    return withUpdateTime(set, current, resource);
  }
  const next = nextVersion(current[field.name]);
  const counted = next === null ? set : new Map([...set, [field, next]]);
  return withUpdateTime(counted, current, resource);
}

/**
 * The values of an update with the time of update alone: batches leave the row's version as it is
 * unless configured.
 */
export function withUpdateTime(
  set: Assignments,
  current: Row | null,
  resource: Resource,
  nowMs: number = resource.runtime.clock.now(),
): Assignments {
  const { etag, driver } = resource;
  const field = etag?.updatedAtField ?? null;
  const moved = withMoments(set, resource, nowMs);
  if (field === null || current === null) return moved;
  const { timestampStepMicros } = driver.dialect;
  const moment = nextMoment(current[field.name], nowMs, timestampStepMicros);
  return new Map([...moved, [field, moment]]);
}

/** The values of an update with the moments that the table declares, unless they hold them. */
export function withMoments(
  set: Assignments,
  { timestamps }: Pick<Resource, "timestamps">,
  nowMs: number,
): Assignments {
  const missing = timestamps.onUpdate.filter((column) => !set.has(column));
  if (set.size === 0 || missing.length === 0) return set;
  return new Map([
    ...set,
    ...missing.map((column) => {
      const { onUpdate } = column;
      return [column, onUpdate === undefined ? instantOf(nowMs) : onUpdate()] as const;
    }),
  ]);
}

/** The next version of a row; null leaves a missing or odd value as it is. */
export function nextVersion(stored: unknown): unknown {
  if (typeof stored === "number") return Number.isSafeInteger(stored + 1) ? stored + 1 : null;
  if (typeof stored === "bigint") return stored + 1n;
  // A column of kind bigint: its values are strings of digits.
  return typeof stored === "string" && /^-?\d+$/.test(stored) ? String(BigInt(stored) + 1n) : null;
}

/** Now, or one step after the stored time where the clock has not passed it: tags never repeat. */
function nextMoment(stored: unknown, nowMs: number, stepMicros: number): string {
  const now = instantOf(nowMs);
  if (typeof stored !== "string" || !isInstant(stored) || compareInstants(now, stored) > 0) {
    return now;
  }
  const micros = Number(fractionOf(stored)) + stepMicros;
  return instantFromEpoch(epochSecond(stored) * 1000 + Math.floor(micros / 1000), micros % 1000) ??
    now;
}
