/** An observation about the search outbox. */
export type OutboxObservation =
  | {
    readonly kind: "search_outbox_missed";
    readonly index: string;
    readonly count: number;
    readonly error: unknown;
  }
  | { readonly kind: "search_outbox_failed"; readonly error: unknown };
