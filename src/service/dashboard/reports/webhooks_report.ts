import type { Billing } from "../../../billing/open_billing.ts";
import type { ReceivedDelivery } from "../../../billing/webhook/recent_deliveries.ts";
import type { Report } from "../report.ts";

/** The webhook deliveries from the payment provider to this process. */
export interface WebhooksReport {
  /** Deliveries, newest first. */
  readonly deliveries: readonly ReceivedDelivery[];
}

export function createWebhooksReport(billing: Pick<Billing, "deliveries">): Report {
  return {
    name: "webhooks",
    method: "GET",
    answer: (): WebhooksReport => ({ deliveries: billing.deliveries() }),
  };
}
