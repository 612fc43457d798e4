/** An observation about payments. */
export type BillingObservation =
  | { readonly kind: "webhook_refused"; readonly provider: string; readonly reason: string }
  | { readonly kind: "webhook_claim_kept"; readonly provider: string; readonly error: unknown }
  | {
    readonly kind: "ungranted_money";
    readonly provider: string;
    readonly payment: string;
    readonly reason: string;
  }
  | {
    readonly kind: "unattributed_money";
    readonly provider: string;
    readonly payment: string;
  }
  | {
    readonly kind: "customer_not_linked";
    readonly provider: string;
    readonly customer: string;
  };

const kinds: ReadonlySet<string> = new Set<BillingObservation["kind"]>([
  "webhook_refused",
  "webhook_claim_kept",
  "unattributed_money",
  "ungranted_money",
  "customer_not_linked",
]);

/** Returns true if an observation is about payments. */
export function isAboutBilling(
  observation: { readonly kind: string },
): observation is BillingObservation {
  return kinds.has(observation.kind);
}

/** Describes an observation about payments in one line. */
export function describeBillingObservation(observation: BillingObservation): string {
  const { provider } = observation;
  switch (observation.kind) {
    case "webhook_refused":
      return `a delivery in the name of ${provider} was refused: ${observation.reason}`;
    case "webhook_claim_kept":
      return `an event of ${provider} failed, and can be repeated only after a minute`;
    case "ungranted_money":
      return `the payment ${observation.payment} of ${provider} granted nothing: ${observation.reason}`;
    case "unattributed_money":
      return `the payment ${observation.payment} of ${provider} names no account: nothing was granted`;
    case "customer_not_linked":
      return `the customer ${observation.customer} of ${provider} paid for a second account, and stays with the first`;
  }
}
