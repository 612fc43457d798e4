import type { Change } from "../../db/changes/change_log.ts";

/**
 * Groups changes by transaction, so that no client receives half of one transaction between the
 * halves of another. Sorts the transactions by their highest `seq`, which keeps the order of the
 * changes of one row: if two transactions change the same row, the second waits for the commit of
 * the first, so the change of the second has a higher `seq` than all changes of the first.
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
