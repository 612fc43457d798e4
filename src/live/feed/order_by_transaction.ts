import type { Change } from "../../db/changes/change_log.ts";

/**
 * Orders changes by transaction, side by side, so that no client receives half of one between the
 * halves of another. The changes of one row keep their order: a transaction that changes a row
 * after another one draws all further numbers after that one's commit, so that the last numbers of
 * transactions are in an order of commits.
 */
export function orderByTransaction(changes: readonly Change[]): readonly Change[] {
  const lastSeqs = new Map<bigint, number>();
  for (const { transaction, seq } of changes) {
    // A log without transaction numbers is in their order already.
    if (transaction === null) return changes;
    lastSeqs.set(transaction, Math.max(seq, lastSeqs.get(transaction) ?? 0));
  }
  if (lastSeqs.size < 2) return changes;
  const rank = ({ transaction }: Change) => lastSeqs.get(transaction ?? 0n) ?? 0;
  return changes.toSorted((left, right) => rank(left) - rank(right) || left.seq - right.seq);
}
