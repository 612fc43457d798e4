import { assert, assertEquals } from "@std/assert";
import type { RequestInfo } from "../../src/app/app.ts";
import { requireHidden, type Service } from "../support/http.ts";

/** A subscription as a client names it. */
export interface Asked {
  readonly key: string;
  readonly path: string;
  readonly resumeFrom?: string | null;
}

/** A client of a multiplexed stream, which reads only when it is asked to. */
export interface MultiplexedClient {
  readonly response: Response;
  /** By key: every byte that belongs to it, as text, without the events of the whole. */
  readonly texts: ReadonlyMap<string, string>;
  /** By key: what the first `subscription` event says. */
  readonly facts: ReadonlyMap<string, Record<string, unknown>>;
  /** By key: the refusals. */
  readonly refused: ReadonlyMap<string, Record<string, unknown>>;
  /** The keys that have ended, in their order. */
  readonly ended: readonly string[];
  /** Every block, in its order. */
  readonly blocks: readonly string[];
  /** Reads until a condition holds. Fails where the stream ends before. */
  until(holds: () => boolean): Promise<void>;
  untilEnd(): Promise<void>;
  /** As a client that goes away. */
  close(): Promise<void>;
}

/** Opens a multiplexed stream. A refusal of the whole throws. */
export async function openMultiplexed(
  { app }: Pick<Service, "app">,
  subscriptions: readonly Asked[],
  { headers = {}, info, path = "/__service/live" }: {
    readonly headers?: Record<string, string>;
    readonly info?: RequestInfo;
    readonly path?: string;
  } = {},
): Promise<MultiplexedClient> {
  const aborting = new AbortController();
  const response = await app.fetch(
    new Request(`http://test${path}`, {
      method: "POST",
      headers: { "content-type": "application/json", ...headers },
      body: JSON.stringify({ subscriptions }),
      signal: aborting.signal,
    }),
    info,
  );
  if (response.status !== 200) {
    throw new Error(`No stream: ${response.status} ${await response.text()}`);
  }
  return readMultiplexed(response, aborting);
}

/** Reads the blocks of a multiplexed stream by their keys. */
export function readMultiplexed(response: Response, aborting: AbortController): MultiplexedClient {
  assert(response.body !== null);
  const reader = response.body.pipeThrough(new TextDecoderStream()).getReader();
  const texts = new Map<string, string>();
  const facts = new Map<string, Record<string, unknown>>();
  const refused = new Map<string, Record<string, unknown>>();
  const ended: string[] = [];
  const blocks: string[] = [];
  let unread = "";
  let current: string | null = null;

  function take(block: string): void {
    blocks.push(block);
    const [, type] = /^event: (subscription|refused|ended)\n/.exec(block) ?? [];
    if (type === undefined) {
      if (current === null) assertEquals(block, ":");
      else texts.set(current, `${texts.get(current) ?? ""}${block}\n\n`);
      return;
    }
    const data = JSON.parse(block.slice(block.indexOf("data: ") + 6));
    assertEquals(data.type, type);
    if (type === "refused") refused.set(data.key, data);
    else if (type === "ended") ended.push(data.key);
    else {
      current = data.key;
      assertEquals(facts.has(data.key), !("primaryKey" in data), "only the first one has facts");
      if (!facts.has(data.key)) facts.set(data.key, data);
    }
  }

  async function more(): Promise<boolean> {
    const { value, done } = await reader.read();
    if (done) {
      assertEquals(unread, "", "a stream ends between two blocks");
      return false;
    }
    requireHidden(value, "a multiplexed stream");
    unread += value;
    for (let end = unread.indexOf("\n\n"); end >= 0; end = unread.indexOf("\n\n")) {
      take(unread.slice(0, end));
      unread = unread.slice(end + 2);
    }
    return true;
  }

  const last = () => blocks.slice(-5).join("\n\n");
  return {
    response,
    texts,
    facts,
    refused,
    ended,
    blocks,
    until: (holds) =>
      awake(async () => {
        while (!holds()) assert(await more(), `the stream ended after ${last()}`);
      }, last),
    untilEnd: () =>
      awake(async () => {
        while (await more());
      }, last),
    async close() {
      aborting.abort();
      await reader.cancel();
    },
  };
}

/**
 * Ends a wait that lasts too long. The timer also keeps the process of a test alive while nothing
 * else does, because an aggregate waits for its turn.
 */
async function awake(work: () => Promise<void>, last: () => string): Promise<void> {
  const { promise: late, reject } = Promise.withResolvers<never>();
  const timer = setTimeout(
    () => reject(new Error(`The stream stands still after ${last()}`)),
    20_000,
  );
  try {
    await Promise.race([work(), late]);
  } finally {
    clearTimeout(timer);
  }
}

/** The last resume token in the text of a stream; empty where there is none. */
export function lastToken(text: string): string {
  return [...text.matchAll(/^id: (.*)$/gm)].at(-1)?.[1] ?? "";
}

/** Without what differs between two streams of the same rows by its nature: the delay at first. */
export function comparable(text: string): string {
  return text.replaceAll(/^(?:retry: \d+|:|id: .*)\n\n/gm, "");
}
