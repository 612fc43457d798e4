import type { Counter, Gauge, Histogram, Metrics } from "../../metrics/metrics.ts";
import type { RequestObservation } from "../../runtime/observations/request_observation.ts";

interface AnswerSeries {
  readonly count: Counter;
  readonly duration: Histogram;
}

export class RequestMetrics {
  readonly #count;
  readonly #duration;
  readonly #active = new Map<string, Gauge>();
  /** The metrics by route, method and status. Nested maps avoid a string for each lookup. */
  readonly #answers = new Map<string, Map<string, (AnswerSeries | undefined)[]>>();

  constructor(metrics: Metrics) {
    const labels = ["http_request_method", "http_route"];
    this.#count = metrics.counter("resource_api_requests_total", {
      help: "Answered requests, by method, configured route and status.",
      labels: [...labels, "http_response_status_code"],
    });
    this.#duration = metrics.histogram("http_server_request_duration_seconds", {
      help: "Time from a request to the head of its answer, by class of the status.",
      labels: [...labels, "status_class"],
    });
    const active = metrics.gauge("http_server_active_requests", {
      help: "Requests that are not answered yet; an open stream is answered.",
      labels: ["http_request_method"],
    });
    for (const method of methods) this.#active.set(method, active.series(method));
  }

  begin(method: string): string {
    const known = this.#active.has(method) ? method : otherMethod;
    this.#active.get(known)?.add(1);
    return known;
  }

  end(method: string, answer: Pick<RequestObservation, "route" | "status" | "durationMs">): void {
    this.#active.get(method)?.add(-1);
    const { route, status, durationMs } = answer;
    const { count, duration } = this.#seriesOf(method, route, status);
    count.add();
    duration.observe(durationMs / 1_000);
  }

  #seriesOf(method: string, route: string, status: number): AnswerSeries {
    let ofRoute = this.#answers.get(route);
    if (ofRoute === undefined) this.#answers.set(route, ofRoute = new Map());
    let ofMethod = ofRoute.get(method);
    if (ofMethod === undefined) ofRoute.set(method, ofMethod = []);
    return ofMethod[status] ??= {
      count: this.#count.series(method, route, String(status)),
      duration: this.#duration.series(method, route, `${Math.floor(status / 100)}xx`),
    };
  }
}

/** Replaces every unknown method, as in OpenTelemetry, because clients can invent many methods. */
const otherMethod = "_OTHER";

const methods: readonly string[] = [
  ...["GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS"],
  otherMethod,
];
