/**
 * Billing and the credits ledger: providers, the webhook, and the routes for the app. The provider
 * for Stripe is in the subpath `./stripe`.
 *
 * @module
 */
export {
  type Billing,
  type BillingOptions,
  type CreditsLedgerOptions,
  openBilling,
  openCreditsLedger,
} from "../src/billing/open_billing.ts";
export type {
  BillingOperations,
  CheckoutRequest,
  UsageRequest,
} from "../src/billing/billing_operations.ts";
export type { BillingPlan } from "../src/billing/billing_plan.ts";
export type {
  BillingEvent,
  BillingEventType,
  BillingPayment,
  BillingSubscription,
  NotGranted,
  SubscriptionStatus,
} from "../src/billing/billing_event.ts";
export type { BillingResolvers, UserResolver } from "../src/billing/routes/billing_routes.ts";
export type { ReceivedDelivery } from "../src/billing/webhook/recent_deliveries.ts";
export type { WebhookCallbacks } from "../src/billing/webhook/webhook.ts";
export type {
  CommitOptions,
  ConsumeOptions,
  CreditsLedger,
  FoundGrant,
  HistoryPage,
  LedgerNote,
  Reservation,
  ReserveOptions,
  ReserveResult,
  ReverseOptions,
} from "../src/billing/ledger/credits_ledger.ts";
export type {
  EndedReservation,
  LedgerResult,
  ReservationState,
} from "../src/billing/ledger/ledger_operations.ts";
export type { LedgerEntry, LedgerEntryKind } from "../src/billing/ledger/ledger_entry.ts";
export type { AccountAudit } from "../src/billing/ledger/audit_account.ts";
export { type CallContext, charged, type ChargeOptions } from "../src/billing/ledger/charged.ts";
export type {
  BillingProvider,
  CheckoutItem,
  CheckoutMode,
  CheckoutSession,
  PaidPrice,
  ProviderCheckout,
  ReadTerms,
  UsageReport,
  VendorDelivery,
  VendorEvent,
  VendorPayment,
  WebhookDelivery,
} from "../src/billing/providers/billing_provider.ts";
export type { ProviderOptions } from "../src/billing/providers/billing_provider.ts";
export {
  lemonSqueezy,
  type LemonSqueezyOptions,
} from "../src/billing/providers/lemon_squeezy/lemon_squeezy.ts";
export { paddle, type PaddleOptions } from "../src/billing/providers/paddle/paddle.ts";
export { polar, type PolarOptions } from "../src/billing/providers/polar/polar.ts";
