import { errorOfResponse } from "../request/service_error.ts";
import { readEvents, type StreamListener } from "./event_reader.ts";
import type { Transport } from "../../api/transport.ts";

export interface SubscriptionRequest {
  readonly key: string;
  readonly path: string;
  readonly resumeFrom: string | undefined;
}

/**
 * Requests a stream of `POST /__service/live` and reads its events. Calls `arrived` for the
 * response and for each chunk, including heartbeats. Resolves at the end of the stream. Rejects if
 * the stream cannot be opened, breaks or is silent for too long, or if `own` is aborted.
 */
export async function readStream(
  transport: Transport,
  subscriptions: readonly SubscriptionRequest[],
  own: AbortController,
  { take, arrived }: StreamListener,
): Promise<void> {
  let cancel = () => {};
  const watch = () => {
    cancel();
    cancel = transport.environment.after(maxSilenceMs, () => own.abort());
  };
  const heard = () => {
    watch();
    arrived();
  };
  watch();
  try {
    const { signal } = own;
    const response = await transport.send({
      ...{ method: "POST", path: "/__service/live", body: { subscriptions } },
      ...{ signal, timeoutMs: 0 },
    });
    if (!response.body) throw await errorOfResponse(response);
    heard();
    // Passing the signal cancels the body, even after an abort that preceded the response.
    await readEvents(response.body, signal, { take, arrived: heard });
  } finally {
    cancel();
  }
}

/** After this silence, in milliseconds, a stream counts as broken: three heartbeats are missing. */
export const maxSilenceMs = 45_000;
