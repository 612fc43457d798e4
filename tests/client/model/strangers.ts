import type { JobStorage } from "../../../src/client/outbox/job.ts";
import type { Chance } from "./model_client.ts";

/** What proxies, captive portals and firewalls answer in place of the service. */
const strangers: readonly ((now: number) => Response)[] = [
  () => page(200, "<h1>Sign in to the network</h1>"),
  () => new Response(null, { status: 302, headers: { location: "http://portal.example/" } }),
  () => new Response(null, { status: 204 }),
  () => page(511, "<h1>Sign in to the network</h1>"),
  ...[400, 401, 403, 404, 407, 409, 410, 412, 413, 422, 428, 431, 451].map((status) => () =>
    page(status, "<h1>Blocked</h1>")
  ),
  ...[403, 404, 409, 412, 422].map((status) => () =>
    new Response(`{"error":"blocked","code":"BLOCKED"}`, {
      ...{ status, headers: { "content-type": "application/json" } },
    })
  ),
  () => new Response("", { status: 502 }),
  () => page(503, "<h1>Back soon</h1>", { "retry-after": "1" }),
  (now) => page(503, "<h1>Back soon</h1>", { "retry-after": new Date(now + 2_000).toUTCString() }),
  (now) => page(429, "<h1>Slower</h1>", { "retry-after": new Date(now + 2_000).toUTCString() }),
  () => page(429, "<h1>Slower</h1>", { "retry-after": "soon" }),
  () => page(429, "<h1>Slower</h1>", { "retry-after": "Wed, 21 Oct 2015 07:28:00 GMT" }),
];

function page(status: number, body: string, headers: Record<string, string> = {}): Response {
  const type = { "content-type": "text/html" };
  return new Response(body, { status, headers: { ...type, ...headers } });
}

/** An answer that does not come from the service. */
export function foreignAnswer(chance: Chance, now: number): Response {
  return strangers[Math.floor(chance() * strangers.length)]?.(now) ?? page(502, "");
}

/**
 * Passes an event stream on. With a share of its chunks, the stream ends within the chunk, has the
 * chunk twice, or has it in two parts.
 */
export function damaged(
  chance: Chance,
  share: () => number,
  end: () => void,
): TransformStream<Uint8Array, Uint8Array> {
  return new TransformStream({
    transform(chunk, controller) {
      const at = chance();
      const cut = Math.floor(chance() * chunk.length);
      if (at >= share()) return controller.enqueue(chunk);
      if (at < share() / 3) {
        controller.enqueue(chunk.slice(0, cut));
        return end();
      }
      if (at < share() * 2 / 3) controller.enqueue(chunk);
      controller.enqueue(chunk.slice(0, cut));
      controller.enqueue(chunk.slice(cut));
    },
  });
}

/** A storage that answers late, as a disk does that is busy with something else. */
export function slowStorage(storage: JobStorage, chance: Chance): JobStorage {
  const late = async <T>(work: () => Promise<T>): Promise<T> => {
    if (chance() < 0.02) await new Promise((resolve) => setTimeout(resolve, 20 * chance()));
    const result = await work();
    if (chance() < 0.02) await new Promise((resolve) => setTimeout(resolve, 20 * chance()));
    return result;
  };
  return {
    ...storage,
    all: () => late(() => storage.all()),
    add: (job) => late(() => storage.add(job)),
    update: (order, change) => late(() => storage.update(order, change)),
    remove: (order) => late(() => storage.remove(order)),
  };
}
