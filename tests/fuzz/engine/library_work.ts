/** Work of the functions of the language, which have no branches that can be counted. */
export interface LibraryWork {
  /** Returns the work since the last call, in items of arrays and in pieces of strings. */
  take(): number;
}

/** Strings are searched much faster than arrays are copied: this many characters are one step. */
const charactersPerStep = 16;

/**
 * Replaces the functions that copy or search arrays and strings by functions that also count how
 * many items they visit. Without them, `[...list, item]` in a loop would look linear.
 */
export function countLibraryWork(): LibraryWork {
  let work = 0;
  const wrap = (
    prototype: object,
    name: PropertyKey,
    costOf: (self: ArrayLike<unknown>, args: readonly unknown[], result: unknown) => number,
  ) => {
    const descriptor = Object.getOwnPropertyDescriptor(prototype, name);
    const original = descriptor?.value;
    if (descriptor === undefined || typeof original !== "function") return;
    const counting = function (this: ArrayLike<unknown>, ...args: unknown[]) {
      const result = Reflect.apply(original, this, args);
      work += costOf(this, args, result);
      return result;
    };
    Object.defineProperty(prototype, name, { ...descriptor, value: counting });
  };
  const lengthOf = (self: ArrayLike<unknown>) => self.length;
  const resultLength = (_self: ArrayLike<unknown>, _args: readonly unknown[], result: unknown) =>
    Array.isArray(result) ? result.length : 0;
  for (
    const name of [Symbol.iterator, "join", "toSorted", "sort", "shift", "unshift", "toSpliced"]
  ) {
    wrap(Array.prototype, name, lengthOf);
  }
  for (const name of ["slice", "concat", "flat"]) wrap(Array.prototype, name, resultLength);
  const visited = (self: ArrayLike<unknown>, args: readonly unknown[], result: unknown) => {
    const from = typeof args[1] === "number" ? args[1] : 0;
    if (typeof result === "number" && result >= 0) return result - from;
    return Math.max(0, self.length - from);
  };
  for (const name of ["indexOf", "includes"]) wrap(Array.prototype, name, visited);
  const searched = (self: ArrayLike<unknown>, args: readonly unknown[], result: unknown) =>
    visited(self, args, result) / charactersPerStep;
  for (const name of ["indexOf", "includes"]) wrap(String.prototype, name, searched);
  for (const name of ["replaceAll", "trim", "toLowerCase", "toUpperCase", "normalize"]) {
    wrap(String.prototype, name, (self) => self.length / charactersPerStep);
  }
  return {
    take() {
      const taken = Math.round(work);
      work = 0;
      return taken;
    },
  };
}
