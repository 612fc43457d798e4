import { DatabaseSync } from "node:sqlite";
import BetterSqlite3 from "better-sqlite3";
import { foldFunctionName } from "../../src/engines/sqlite/sql/text_operators.ts";

/** Counts how often SQL folds a text, in the SQLite databases that are opened until it is disposed. */
export interface FoldCount extends Disposable {
  /** Since the last call. */
  take(): number;
}

/** Both libraries register functions by a method of the database, which is wrapped here. */
export function countFolds(): FoldCount {
  let count = 0;
  const restore = [DatabaseSync.prototype, BetterSqlite3.prototype].map((prototype) => {
    // One is a class of Node with types that leave the functions open, the other is untyped.
    const owner = prototype as unknown as Record<string, (...parts: unknown[]) => unknown>;
    const original = owner.function!;
    owner.function = function (...parts: unknown[]) {
      const work = parts.at(-1);
      const counted = parts[0] === foldFunctionName && typeof work === "function"
        ? (...values: unknown[]) => {
          count++;
          return work(...values);
        }
        : work;
      // A function of SQL has as many parameters as its JavaScript.
      if (typeof counted === "function" && typeof work === "function") {
        Object.defineProperty(counted, "length", { value: work.length });
      }
      return original.apply(this, [...parts.slice(0, -1), counted]);
    };
    return () => owner.function = original;
  });
  return {
    take() {
      const taken = count;
      count = 0;
      return taken;
    },
    [Symbol.dispose]() {
      for (const undo of restore) undo();
    },
  };
}
