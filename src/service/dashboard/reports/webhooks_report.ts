import type { Billing } from "../../../billing/open_billing.ts";
import type { ReceivedDelivery } from "../../../billing/webhook/delivery_log.ts";
import type { Report } from "../report.ts";

/** The deliveries of the payment provider to this process. */
export interface WebhooksReport {
  /** The newest first. */
  readonly deliveries: readonly ReceivedDelivery[];
}

/** The report of the deliveries of the provider of payments. */
export function createWebhooksReport(billing: Pick<Billing, "deliveries">): Report {
  return {
    name: "webhooks",
    method: "GET",
    answer: (): WebhooksReport => ({ deliveries: billing.deliveries() }),
  };
}
