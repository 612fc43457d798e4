import { errorOfResponse } from "../request/service_error.ts";
import { connectionOf } from "../live/live_connection.ts";
import { openListsOf } from "../live/open_lists.ts";
import type { ClientRequest, Transport } from "../../api/transport.ts";

/** The writes of a collection. A write completes when the collection contains its result. */
export interface RowWrites {
  /**
   * Sends a write after the earlier writes of the same row, with the tag that the row had when the
   * user saw it. Rejects if the service refuses this write or the previous write of the row.
   */
  send(key: string, seenTag: string | undefined, request: ClientRequest): Promise<void>;
  /** Records that the collection has a stream. From then on, writes wait for their events. */
  begin(): void;
  /**
   * Completes the writes with the ids `echoes`, and the writes that the service acknowledged before
   * stream number `asked` was requested. Their results are now in the collection.
   */
  committed(asked: number, echoes: ReadonlySet<string>): void;
  /** Completes all waiting writes, because the stream will deliver no further events. */
  release(): void;
}

interface WaitingWrite {
  /** The number of streams requested before the write's acknowledgement. `Infinity` until then. */
  askedBefore: number;
  done(): void;
}

/** Creates {@link RowWrites} for a collection that has neither writes nor a stream yet. */
export function createRowWrites(transport: Transport): RowWrites {
  const { randomId, after } = transport.environment;
  const waiting = new Map<string, WaitingWrite>();
  const lanes = new Map<string, Promise<void>>();
  /** The new tags of rows after the client's own writes, by row key and previous tag. */
  const nextTags = new Map<string, string>();
  let hasStream = false;

  /** Returns the newest known tag of a row, given the tag of the row that the user has seen. */
  function currentTag(key: string, tag: string): string {
    const next = nextTags.get(`${tag} ${key}`);
    return next === undefined ? tag : currentTag(key, next);
  }

  async function request(key: string, tag: string | undefined, one: ClientRequest): Promise<void> {
    const answer = await transport.send(one);
    if (!await answer.clone().json().catch(() => null)) throw await errorOfResponse(answer);
    const next = answer.headers.get("etag");
    if (!tag || !next) return;
    nextTags.set(`${tag} ${key}`, next);
    // A row that returns to an earlier state has its earlier tag again.
    nextTags.delete(`${next} ${key}`);
  }

  return {
    async send(key, seenTag, one) {
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
        // If the row no longer matches the filter, no event confirms the write. A new stream does.
        const cancel = after(lateMs, () => connectionOf(transport).reopen());
        await isSeen;
        cancel();
      } finally {
        waiting.delete(id);
        if (lanes.get(key) === own) lanes.delete(key);
        if (waiting.size === 0) nextTags.clear();
      }
    },
    begin() {
      hasStream = true;
    },
    committed(asked, echoes) {
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

/** How long to wait for the event of a write, in milliseconds. Most events follow immediately. */
const lateMs = 2_000;
