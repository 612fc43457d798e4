import { errorOfResponse, ServiceError } from "../request/service_error.ts";
import type { Job, JobRow } from "./job.ts";
import type { Bearer, Transport } from "../../api/transport.ts";

/** Returns the job with its row's path, and the row of the response (null for a delete). */
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
      // The client may have another user's token by now, so it sends the job's token.
      ...(token && { authorization: token.value && `Bearer ${token.value}` }),
    },
  });
  if (job.kind === "delete" && await response.text() !== "{}") {
    throw await errorOfResponse(response);
  }
  // A proxy can change the path's prefix, so only the last segment of `Location` is used.
  const segment = response.headers.get("location")?.match(/\/[^/]*$/)?.[0] ?? "";
  return [
    { ...job, path: path + segment, state: "sent" },
    job.kind === "delete" ? null : await readRow(response),
  ];
}

export async function readRow(response: Response): Promise<JobRow | null> {
  const { _optimisticId, ...row } = await response.json();
  const tag = response.headers.get("etag");
  return tag === null ? row : { ...row, _etag: tag };
}

/** Returns true if a write was refused, expired or discarded. An error of a proxy is no refusal. */
export function isRefusal(error: unknown): error is ServiceError {
  return error instanceof ServiceError && (/expired|discarded/.test(error.slug) ||
    // The slug `idempotency-in-flight` is no refusal: an earlier attempt is still running.
    error.problem !== null && !/^(401|408|429|5)|flight$/.test(error.status + error.slug));
}

const methods = { create: "POST", update: "PATCH", replace: "PUT", delete: "DELETE" } as const;
