import { answerError } from "../request/service_error.ts";
import { connectionOf } from "../live/live_connection.ts";
import { openListsOf } from "../live/open_lists.ts";
import type { ClientRequest, Transport } from "../../api/transport.ts";

/** The writes of a collection: each is done once the rows of the collection have it. */
export interface RowWrites {
  /**
   * Sends a write of a row, after those of the same row, with the tag that the user has seen.
   * Rejects where it is refused, and where the write before it was.
   */
  send(key: string, seenTag: string | undefined, request: ClientRequest): Promise<void>;
  /** There is a stream, which will have what is written. */
  begin(): void;
  /**
   * The rows of the collection have everything up to a position, of a stream before which so many
   * were asked for, and these writes by their ids.
   */
  committed(asked: number, echoes: ReadonlySet<string>): void;
  /** Nothing comes any more: what is waited for is done. */
  release(): void;
}

interface WaitingWrite {
  /** The streams that were asked for before it was answered; `Infinity` until then. */
  askedBefore: number;
  done(): void;
}

/** Begins without writes, and without a stream. */
export function createRowWrites(transport: Transport): RowWrites {
  const { uuid, after } = transport.environment;
  const waiting = new Map<string, WaitingWrite>();
  const lanes = new Map<string, Promise<void>>();
  /** The tags that own writes have given a row, by its key and the tag that it had before. */
  const nextTags = new Map<string, string>();
  let hasStream = false;

  /** The tag of a row that the user has seen, after the own writes since then. */
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
    // A row that is again what it was has the tag that it had.
    nextTags.delete(`${next} ${key}`);
  }

  return {
    async send(key, seenTag, one) {
      const id = uuid();
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
        // Where a filter has no place for the row, there is no event: another stream says so.
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

/** An event comes within milliseconds of the answer. */
const lateMs = 2_000;
