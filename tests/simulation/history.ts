/** The state of a row, or null if the row does not exist. */
export type RowState = Readonly<Record<string, unknown>> | null;

/** Returns the state after an operation, or undefined if its response is impossible. */
export type Effect = (state: RowState) => RowState | undefined;

/** An operation on a row: when it began and ended, and what it does. */
export interface Operation {
  readonly label: string;
  readonly began: number;
  /** Infinity if the outcome is unknown: the operation may take effect at any time, or never. */
  ended: number;
  isOptional: boolean;
  effect: Effect;
}

/** The operations of one schedule, by row. */
export class History {
  readonly #rows = new Map<number, Operation[]>();
  readonly #initial: ReadonlyMap<number, RowState>;
  #time = 0;

  constructor(initial: ReadonlyMap<number, RowState>) {
    this.#initial = initial;
  }

  /** Records the begin of an operation, whose outcome is unknown until {@link end}. */
  begin(row: number, label: string, effect: Effect): Operation {
    const operation: Operation = {
      ...{ label, effect },
      ...{ began: ++this.#time, ended: Infinity, isOptional: true },
    };
    const known = this.#rows.get(row);
    if (known === undefined) this.#rows.set(row, [operation]);
    else known.push(operation);
    return operation;
  }

  /** Records the response of an operation: from now on, `effect` also checks the response. */
  end(operation: Operation, effect: Effect): void {
    operation.ended = ++this.#time;
    operation.isOptional = false;
    operation.effect = effect;
  }

  /** Records that an operation has not been carried out. */
  drop(operation: Operation): void {
    for (const operations of this.#rows.values()) {
      const index = operations.indexOf(operation);
      if (index >= 0) operations.splice(index, 1);
    }
  }

  /** Returns a description of a row whose operations have no possible order, or null. */
  check(): string | null {
    for (const [row, operations] of this.#rows) {
      const initial = this.#initial.get(row) ?? null;
      if (isLinearizable(operations, initial)) continue;
      const lines = operations.map(({ label, began, ended }) => `${began}-${ended} ${label}`);
      return `no order explains row ${row}, at first ${JSON.stringify(initial)}:\n${
        lines.join("\n")
      }`;
    }
    return null;
  }
}

/** Searches for an order of the operations that explains all responses (Wing and Gong, 1993). */
function isLinearizable(operations: readonly Operation[], initial: RowState): boolean {
  if (operations.length > 30) throw new Error("A row has too many operations");
  const failed = new Set<string>();
  const search = (done: number, state: RowState): boolean => {
    const left = operations.filter((_one, index) => (done & (1 << index)) === 0);
    if (left.every(({ isOptional }) => isOptional)) return true;
    const key = `${done} ${JSON.stringify(state)}`;
    if (failed.has(key)) return false;
    const firstEnd = Math.min(...left.map(({ ended }) => ended));
    for (const one of left) {
      // An operation that began after the end of another one comes later.
      if (one.began > firstEnd) continue;
      const next = one.effect(state);
      if (next === undefined) continue;
      if (search(done | (1 << operations.indexOf(one)), next)) return true;
    }
    failed.add(key);
    return false;
  };
  return search(0, initial);
}
