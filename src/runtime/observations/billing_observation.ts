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
