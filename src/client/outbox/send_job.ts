import { answerError, ServiceError } from "../request/service_error.ts";
import type { Job, JobRow } from "./job.ts";
import type { Bearer, Transport } from "../../api/transport.ts";

/**
 * Sends a job once. Gives it as it was sent, with the path of its row, and the row of the answer,
 * null for a delete. Throws what the transport does, and for an answer that cannot be read.
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
      // The source may give another token by now.
      ...(token && { authorization: token.value && `Bearer ${token.value}` }),
    },
  });
  if (job.kind === "delete" && await response.text() !== "{}") throw await answerError(response);
  // A proxy may give the paths of the service another beginning.
  const segment = response.headers.get("location")?.match(/\/[^/]*$/)?.[0] ?? "";
  return [
    { ...job, path: path + segment, state: "sent" },
    job.kind === "delete" ? null : await rowOf(response),
  ];
}

/** Reads the row of an answer, with its tag as `_etag`. Throws where it has none. */
export async function rowOf(response: Response): Promise<JobRow | null> {
  const { _optimisticId, ...row } = await response.json();
  const tag = response.headers.get("etag");
  return tag === null ? row : { ...row, _etag: tag };
}

/**
 * Returns true if the service would refuse the same request again, as opposed to a passing failure, and to
 * what it has not said: the write may have been carried out before.
 */
export function isRefusal(error: unknown): error is ServiceError {
  return error instanceof ServiceError && (error.slug === "expired" ||
    // The last one is in flight.
    error.problem !== null && error.status < 500 && !error.slug.endsWith("flight") &&
      ![401, 408, 429].includes(error.status));
}

const methods = { create: "POST", update: "PATCH", replace: "PUT", delete: "DELETE" } as const;
