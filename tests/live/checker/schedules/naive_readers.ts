import type { Change, ChangeLog, ChangeLogStep } from "../../../../src/db/changes/change_log.ts";
import type { Position } from "../../../../src/db/changes/log_position.ts";
import { logMethods } from "../../log_methods.ts";

/** Naive ways to read a log of Postgres. */
export type NaiveReader = "number" | "horizon, then number" | "horizon, by transaction" | "horizon";

/**
 * A log that gives the changes which such a reader would have given, and at the positions that it
 * would have been at. Each is known by what it takes for the order of commits.
 */
export function naiveLog(log: ChangeLog, reader: NaiveReader): ChangeLog {
  const states = new WeakMap<object, State>();

  return {
    ...logMethods(log),
    async next(from) {
      const step = await wholeStep(log, from);
      if (step === null || step.to?.kind !== "snapshot") return step;
      // A client that begins at a token knows nothing yet.
      const state = states.get(from) ?? { held: [], last: -1 };
      const { changes, ...next } = given(reader, state, step.changes, step.to.xmin);
      states.set(step.to, next);
      return { changes, to: step.to };
    },
  };
}

/** What a reader keeps from one step to the next. */
interface State {
  /** Was seen, and is not old enough for it. */
  readonly held: readonly Change[];
  /** The last number that it gave. */
  readonly last: number;
}

async function wholeStep(
  log: ChangeLog,
  from: Position | ChangeLogStep,
): Promise<ChangeLogStep | null> {
  let step = await log.next(from);
  const changes = [...step?.changes ?? []];
  while (step !== null && step.to === null) {
    step = await log.next(step);
    changes.push(...step?.changes ?? []);
  }
  return step === null ? null : { ...step, changes };
}

function given(
  reader: NaiveReader,
  { held, last }: State,
  fresh: readonly Change[],
  horizon: bigint,
): State & { readonly changes: readonly Change[] } {
  const known = [...held, ...fresh];
  const isReady = (change: Change) => reader === "number" || xidOf(change) < horizon;
  const ready = known.filter(isReady).toSorted((left, right) => left.seq - right.seq);
  const byNumber = reader === "number" || reader === "horizon, then number";
  const changes = byNumber
    ? ready.filter(({ seq }) => seq > last)
    : reader === "horizon"
    ? ready
    : ready.toSorted((left, right) => Number(xidOf(left) - xidOf(right)));
  return {
    changes,
    held: known.filter((change) => !isReady(change)),
    last: Math.max(last, ...changes.map(({ seq }) => seq)),
  };
}

function xidOf({ transaction }: Change): bigint {
  return transaction ?? 0n;
}
