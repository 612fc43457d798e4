import type { Metrics } from "../../metrics/metrics.ts";
import type { Observation, Observer } from "../../runtime/observation.ts";

/** Returns an observer that counts observations by kind, and passes each to `next`. */
export function createObservationCounter(metrics: Metrics, next: Observer): Observer {
  const family = metrics.counter("resource_api_observations_total", {
    help:
      "Observations, as the observer receives them, by kind and by what some kinds distinguish.",
    labels: ["kind", "detail"],
  });
  return (observation) => {
    family.series(observation.kind, detailOf(observation)).add();
    next(observation);
  };
}

/** Returns a word or configured name that distinguishes observations of the same kind. */
function detailOf(observation: Observation): string {
  switch (observation.kind) {
    case "proof_of_work_refused":
      return observation.reason;
    case "captcha_refused":
    case "captcha_verifier_failed":
    case "webhook_refused":
    case "webhook_claim_kept":
    case "unattributed_money":
    case "ungranted_money":
    case "customer_not_linked":
      return observation.provider;
    case "account_event":
      return observation.event;
    case "mcp_call":
      return observation.tool;
    default:
      return "";
  }
}
