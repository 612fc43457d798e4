/** An observation about the search outbox. */
export type OutboxObservation =
  | {
    readonly kind: "search_outbox_missed";
    readonly index: string;
    readonly count: number;
    readonly error: unknown;
  }
  | { readonly kind: "search_outbox_failed"; readonly error: unknown };

const kinds: ReadonlySet<string> = new Set<OutboxObservation["kind"]>([
  "search_outbox_missed",
  "search_outbox_failed",
]);

/** Returns true if an observation is about the search outbox. */
export function isAboutOutbox(
  observation: { readonly kind: string },
): observation is OutboxObservation {
  return kinds.has(observation.kind);
}

/** Describes an observation about the search outbox in one line. */
export function describeOutboxObservation(observation: OutboxObservation): string {
  switch (observation.kind) {
    case "search_outbox_missed":
      return `the store did not take ${observation.count} changes of the search index ` +
        `"${observation.index}": they are in memory until it does`;
    case "search_outbox_failed":
      return "the search outbox was not drained";
  }
}
