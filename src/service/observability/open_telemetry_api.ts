/** The parts of OpenTelemetry that the service uses. Only this file imports the package. */
export { context, metrics, SpanKind, SpanStatusCode, trace } from "@opentelemetry/api";
