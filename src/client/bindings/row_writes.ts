import { answerError } from "../request/service_error.ts";
import { connectionOf } from "../live/live_connection.ts";
import { openListsOf } from "../live/open_lists.ts";
import type { ClientRequest, Transport } from "../../api/transport.ts";

/** The writes of a collection. A write is done when the collection contains its result. */
export interface RowWrites {
  /**
   * Sends a write of a row after the earlier writes of that row, with the ETag that the user has
   * seen. Rejects if the service refuses this write or the previous write of the row.
   */
  send(key: string, seenTag: string | undefined, request: ClientRequest): Promise<void>;
  /** Records that the collection has a stream, which will deliver the writes. */
  begin(): void;
  /**
   * Completes the writes that the collection now has: writes with these ids, and writes that were
   * acknowledged before the stream with the number `asked` was requested.
   */
  committed(asked: number, echoes: ReadonlySet<string>): void;
  /** Completes all waiting writes, because no further events will come. */
  release(): void;
}

interface WaitingWrite {
  /** Number of streams that were requested before the service responded; `Infinity` until then. */
  askedBefore: number;
  done(): void;
}

/** Creates a {@link RowWrites} without writes and without a stream. */
export function createRowWrites(transport: Transport): RowWrites {
  const { randomId, after } = transport.environment;
  const waiting = new Map<string, WaitingWrite>();
  const lanes = new Map<string, Promise<void>>();
  /** Tags that own writes have set, by the key of the row and its previous tag. */
  const nextTags = new Map<string, string>();
  let hasStream = false;

  /** Returns the tag of a row that the user has seen, updated by later own writes. */
  function currentTag(key: string, tag: string): string {
    const next = nextTags.get(`${tag} ${key}`);
    return next === undefined ? tag : currentTag(key, next);
  }

  async function request(key: string, tag: string | undefined, one: ClientRequest): Promise<void> {
    const answer = await transport.send(one);
    if (!await answer.clone().json().catch(() => null)) throw await answerError(answer);
    const next = answer.headers.get("etag");
    if (!tag || !next) return;
    nextTags.set(`${tag} ${key}`, next);
    // A row that returns to an earlier state gets its earlier tag again.
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
        // A write that moves its row out of the filter causes no event. A new stream then confirms
        // the write.
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

/** Milliseconds to wait for the event of a write. It usually follows the response immediately. */
const lateMs = 2_000;
