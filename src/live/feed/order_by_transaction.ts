import type { Change } from "../../db/changes/change_log.ts";

/**
 * Groups changes by transaction, so that no client receives half of one transaction between the
 * halves of another. The changes of one row keep their order: if two transactions change the same
 * row, the second waits for the commit of the first, and its change has a higher number. Therefore
 * the highest numbers of the transactions are in the order of the commits.
 */
export function orderByTransaction(changes: readonly Change[]): readonly Change[] {
  const lastSeqs = new Map<bigint, number>();
  for (const { transaction, seq } of changes) {
    // A log without transaction ids is already in the order of transactions.
    if (transaction === null) return changes;
    lastSeqs.set(transaction, Math.max(seq, lastSeqs.get(transaction) ?? 0));
  }
  if (lastSeqs.size < 2) return changes;
  const rank = ({ transaction }: Change) => lastSeqs.get(transaction ?? 0n) ?? 0;
  return changes.toSorted((left, right) => rank(left) - rank(right) || left.seq - right.seq);
}
