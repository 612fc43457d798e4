import { allRows, comparison, type Filter } from "../../filter/filter.ts";
import { equalOperator } from "../../filter/operators/operator_registry.ts";
import type { Assignments } from "../../plan/plan.ts";
import {
  compareInstants,
  epochSecond,
  instantFromEpoch,
  instantOf,
  isInstant,
  microsecondDigits,
} from "../../schema/instant.ts";
import type { Row } from "../../schema/table_info.ts";
import { integerVersionOf, type Precondition } from "../http/etag.ts";
import type { Resource } from "../model/resource.ts";

export function sameVersion(current: Row | null, { etag }: Resource): Filter {
  const field = etag?.versionField ?? etag?.updatedAtField ?? null;
  const value = field === null ? null : current?.[field.name] ?? null;
  return field === null || value === null ? allRows : comparison(equalOperator, field, [value]);
}

export function expectedVersion(
  precondition: Precondition,
  { etag }: Pick<Resource, "etag">,
): Filter | null {
  const field = etag?.versionField ?? null;
  if (precondition === null || etag === null) return allRows;
  const version = integerVersionOf(precondition, etag);
  return version === null || field === null ? null : comparison(equalOperator, field, [version]);
}

/** Adds the update time and the next version. `current` must be locked, so versions are unique. */
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

/** Adds only the update time: a batch changes versions only with `batch.incrementVersion`. */
export function withUpdateTime(
  set: Assignments,
  current: Row | null,
  resource: Resource,
  nowMs: number = resource.runtime.clock.now(),
): Assignments {
  const { etag, driver } = resource;
  const field = etag?.updatedAtField ?? null;
  const moved = withTimestamps(set, resource, nowMs);
  if (field === null || current === null) return moved;
  const { timestampStepMicros } = driver.dialect;
  const moment = nextMoment(current[field.name], nowMs, timestampStepMicros);
  return new Map([...moved, [field, moment]]);
}

export function withTimestamps(
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

export function nextVersion(stored: unknown): unknown {
  if (typeof stored === "number") return Number.isSafeInteger(stored + 1) ? stored + 1 : null;
  if (typeof stored === "bigint") return stored + 1n;
  return typeof stored === "string" && /^-?\d+$/.test(stored) ? String(BigInt(stored) + 1n) : null;
}

/** Returns the later of now and the first time after `stored`, so that ETags never repeat. */
function nextMoment(stored: unknown, nowMs: number, stepMicros: number): string {
  const now = instantOf(nowMs);
  if (typeof stored !== "string" || !isInstant(stored) || compareInstants(now, stored) > 0) {
    return now;
  }
  const micros = Number(microsecondDigits(stored)) + stepMicros;
  return instantFromEpoch(epochSecond(stored) * 1000 + Math.floor(micros / 1000), micros % 1000) ??
    now;
}
