import type { Subscriber } from "./live_messages.ts";
import type { Transport } from "../../api/transport.ts";

export type EventFields = Readonly<Record<string, string | undefined>>;

/**
 * Sends `POST /__service/live`, and parses the response's server-sent events (WHATWG HTML, 9.2.6),
 * whose lines end in LF and which have one `data` line. Yields an empty list when the response
 * arrives, then the events of each chunk. Throws if the stream fails, is silent for too long, or if
 * the caller aborts `own`.
 */
export async function* readStream(
  transport: Transport,
  subscribers: readonly Subscriber[],
  own: AbortController,
): AsyncGenerator<readonly EventFields[], void> {
  const { signal } = own;
  let cancel = () => {};
  const watch = () => {
    cancel();
    cancel = transport.environment.after(maxSilenceMs, () => own.abort());
  };
  watch();
  try {
    const subscriptions = subscribers.map(({ path, set }, index) => ({
      ...{ key: `${index}`, path, resumeFrom: set.token },
    }));
    const { body } = await transport.send({
      ...{ method: "POST", path: "/__service/live", body: { subscriptions } },
      ...{ signal, timeoutMs: 0 },
    });
    yield [];
    // If there is no body, a `TypeError` is thrown here, and the client opens another stream.
    // Node's `fetch` may ignore the signal after the headers, so the signal is passed here, too.
    const reader = body!.pipeThrough(new TextDecoderStream(), own).getReader();
    for (let text = "";;) {
      watch();
      const { done, value } = await reader.read();
      if (done) return;
      const blocks = (text + value).split("\n\n");
      // The `!` is safe: splitting a string always returns a last part.
      text = blocks.pop()!;
      // Lines are split only at LF, because JSON strings may contain U+2028.
      yield blocks.map((block) =>
        Object.fromEntries(block.split("\n").map((line) => line.split(/: *(.*)/s)))
      );
    }
  } finally {
    cancel();
  }
}

/** After this silence, in milliseconds, a stream counts as broken: three heartbeats are missing. */
export const maxSilenceMs = 45_000;
