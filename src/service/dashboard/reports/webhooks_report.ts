import type { Billing } from "../../../billing/open_billing.ts";
import type { Report } from "../report.ts";

/** Creates the report of the webhook deliveries to this process, newest first. */
export function createWebhooksReport(billing: Pick<Billing, "deliveries">): Report {
  return {
    name: "webhooks",
    method: "GET",
    answer: () => ({ deliveries: billing.deliveries() }),
  };
}
