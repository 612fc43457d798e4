import { errorOfResponse } from "../request/service_error.ts";
import { plainTag } from "../request/plain_tag.ts";
import { connectionOf } from "../live/direct_connection.ts";
import { openListsOf } from "../live/open_lists.ts";
import type { ClientRequest, Transport } from "../../api/transport.ts";

/** Sends the writes of a collection. A write completes when the collection contains its result. */
export type RowWrites = ReturnType<typeof createRowWrites>;

interface WaitingWrite {
  /** Number of streams requested before the service confirmed this write; `Infinity` until then. */
  askedBefore: number;
  done(): void;
}

export function createRowWrites(transport: Transport) {
  const { randomId, after } = transport.environment;
  const waiting = new Map<string, WaitingWrite>();
  const lanes = new Map<string, Promise<void>>();
  /** Maps the ETag before each of this client's writes (and the row's key) to the ETag after it. */
  const nextTags = new Map<string, string>();
  let hasStream = false;

  function currentTag(key: string, tag: string): string {
    const next = nextTags.get(`${plainTag(tag)} ${key}`);
    return next === undefined ? tag : currentTag(key, next);
  }

  async function request(key: string, tag: string | undefined, one: ClientRequest): Promise<void> {
    const answer = await transport.send(one);
    if (!await answer.clone().json().catch(() => null)) throw await errorOfResponse(answer);
    const next = answer.headers.get("etag");
    if (!tag || !next) return;
    nextTags.set(`${plainTag(tag)} ${key}`, next);
    // If a row got an earlier ETag again, `currentTag` would follow the old entry forever.
    nextTags.delete(`${plainTag(next)} ${key}`);
  }

  return {
    /** Sends a write after earlier writes of the row. `seenTag` is the ETag that the user saw. */
    async send(key: string, seenTag: string | undefined, one: ClientRequest) {
      const id = randomId();
      const write: WaitingWrite = { askedBefore: Infinity, done() {} };
      const isSeen = new Promise<void>((resolve) => write.done = resolve);
      waiting.set(id, write);
      const before = lanes.get(key) ?? Promise.resolve();
      const own = before.then(() => {
        const tag = seenTag && currentTag(key, seenTag);
        const headers = { "service-optimistic-id": id, ...(tag && { "if-match": tag }) };
        return request(key, tag, { ...one, headers });
      });
      lanes.set(key, own);
      try {
        await own;
        write.askedBefore = openListsOf(transport).asked;
        if (!hasStream) return;
        // No event reports a row outside of the filter, so a new stream must confirm the write.
        const cancel = after(lateMs, () => connectionOf(transport).reopen());
        await isSeen;
        cancel();
      } finally {
        waiting.delete(id);
        if (lanes.get(key) === own) lanes.delete(key);
        if (waiting.size === 0) nextTags.clear();
      }
    },
    /** Records that a stream exists. From then on, only a stream's events complete a write. */
    begin() {
      hasStream = true;
    },
    /** Completes writes in `echoes` (by id), or confirmed before stream `asked` was requested. */
    committed(asked: number, echoes: ReadonlySet<string>) {
      for (const [id, { askedBefore, done }] of waiting) {
        if (echoes.has(id) || asked > askedBefore) done();
      }
    },
    release() {
      hasStream = false;
      for (const { done } of waiting.values()) done();
    },
  };
}

/** How long to wait for a write's event before opening another stream, in milliseconds. */
const lateMs = 2_000;
