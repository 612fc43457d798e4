import { errorOfResponse, ServiceError } from "../request/service_error.ts";
import type { Job, JobRow } from "./job.ts";
import type { Bearer, Transport } from "../../api/transport.ts";

/**
 * Sends a job once. Returns the job with the path of its row, and the row of the response (null for
 * a delete). Throws the errors of the transport, and an error for an unreadable response.
 */
export async function sendJob(
  job: Job,
  transport: Transport,
  signal: AbortSignal,
  token?: Bearer,
): Promise<readonly [Job, JobRow | null]> {
  const { path, ifMatch } = job;
  const response = await transport.send({
    ...{ method: methods[job.kind], path, signal },
    body: job.body ?? undefined,
    headers: {
      "idempotency-key": job.idempotencyKey,
      "service-optimistic-id": job.id,
      "if-match": ifMatch,
      // The token source may already return the token of another user.
      ...(token && { authorization: token.value && `Bearer ${token.value}` }),
    },
  });
  if (job.kind === "delete" && await response.text() !== "{}") {
    throw await errorOfResponse(response);
  }
  // A proxy may change the path prefix, so only the last segment of the location is used.
  const segment = response.headers.get("location")?.match(/\/[^/]*$/)?.[0] ?? "";
  return [
    { ...job, path: path + segment, state: "sent" },
    job.kind === "delete" ? null : await readResponseRow(response),
  ];
}

/** Reads the row of a response and adds its tag as `_etag`. Throws if there is no row. */
export async function readResponseRow(response: Response): Promise<JobRow | null> {
  const { _optimisticId, ...row } = await response.json();
  const tag = response.headers.get("etag");
  return tag === null ? row : { ...row, _etag: tag };
}

/**
 * Returns true if the service would refuse the same request again. Returns false for temporary
 * failures and errors without a problem, after which the write may have been carried out.
 */
export function isRefusal(error: unknown): error is ServiceError {
  return error instanceof ServiceError && (/expired|discarded/.test(error.slug) ||
    // `idempotency-in-flight` means that an earlier attempt is still running.
    error.problem !== null && error.status < 500 && !error.slug.endsWith("flight") &&
      ![401, 408, 429].includes(error.status));
}

const methods = { create: "POST", update: "PATCH", replace: "PUT", delete: "DELETE" } as const;
