import { errorOfResponse } from "../request/service_error.ts";
import { plainTag } from "../request/plain_tag.ts";
import { connectionOf } from "../live/direct_connection.ts";
import { openListsOf } from "../live/open_lists.ts";
import type { ClientRequest, Transport } from "../../api/transport.ts";

/** Sends the writes of a collection. A write completes when the collection contains its result. */
export type RowWrites = ReturnType<typeof createRowWrites>;

interface WaitingWrite {
  /** Number of streams requested before the write's acknowledgement; `Infinity` until then. */
  askedBefore: number;
  done(): void;
}

/** Creates {@link RowWrites} for a collection that has neither writes nor a stream yet. */
export function createRowWrites(transport: Transport) {
  const { randomId, after } = transport.environment;
  const waiting = new Map<string, WaitingWrite>();
  const lanes = new Map<string, Promise<void>>();
  /** The new ETags of rows after the client's own writes, by row key and previous ETag. */
  const nextTags = new Map<string, string>();
  let hasStream = false;

  /** Returns the newest known ETag of a row, given the ETag of the row as the user saw it. */
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
    // If a row returns to an earlier ETag, the old entry for this ETag would create a cycle.
    nextTags.delete(`${plainTag(next)} ${key}`);
  }

  return {
    /**
     * Sends a write after earlier writes of the same row. `seenTag` is the ETag of the row as the
     * user saw it. Rejects if the service refuses this write or the previous write of the row.
     */
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
        // If the row no longer matches the filter, only a new stream confirms the write.
        const cancel = after(lateMs, () => connectionOf(transport).reopen());
        await isSeen;
        cancel();
      } finally {
        waiting.delete(id);
        if (lanes.get(key) === own) lanes.delete(key);
        if (waiting.size === 0) nextTags.clear();
      }
    },
    /** Records that there is a stream. Writes then complete only when the stream confirms them. */
    begin() {
      hasStream = true;
    },
    /**
     * Completes writes whose results are now in the collection: those with an id in `echoes`, and
     * those that the service acknowledged before stream number `asked` was requested.
     */
    committed(asked: number, echoes: ReadonlySet<string>) {
      for (const [id, { askedBefore, done }] of waiting) {
        if (echoes.has(id) || asked > askedBefore) done();
      }
    },
    /** Completes all waiting writes, because the stream will deliver no further events. */
    release() {
      hasStream = false;
      for (const { done } of waiting.values()) done();
    },
  };
}

/** How long to wait for the event of a write, in milliseconds, before opening a new stream. */
const lateMs = 2_000;
