import { assert, assertEquals } from "@std/assert";

/** One event of a live stream, or a block that only moves the position. */
export interface ServerEvent {
  /** Empty for a block without an event. */
  readonly type: string;
  // deno-lint-ignore no-explicit-any -- a test says what it expects by asserting it
  readonly data: any;
}

/** A client of a live stream: it reads as an EventSource does, and only when it is asked to. */
export interface EventStream {
  readonly response: Response;
  /** As an EventSource would send it. Empty where there is none. */
  readonly lastEventId: string;
  /** What `retry` said last. */
  readonly retryMs: number | null;
  /** Every byte that has come, as text. */
  readonly text: string;
  /** The next event; null at the end of the stream. */
  next(): Promise<ServerEvent | null>;
  /** The next events, so many. Fails where the stream ends before. */
  take(count: number): Promise<readonly ServerEvent[]>;
  /** All events up to the last page of the snapshot, that one too. */
  untilSynced(): Promise<readonly ServerEvent[]>;
  /** Reads until the position is known to the client, or is another one. */
  untilToken(): Promise<string>;
  /** Reads the events before the next position. */
  restOfPart(): Promise<readonly ServerEvent[]>;
  /** Reads until nothing more comes. */
  untilEnd(): Promise<readonly ServerEvent[]>;
  /** Ends the stream as a client does that goes away. */
  close(): Promise<void>;
}

/** Opens a stream; `check` sees everything that comes. */
export async function openEventStream(
  open: (signal: AbortSignal) => Promise<Response>,
  check: (text: string, where: string) => void,
): Promise<EventStream> {
  const aborting = new AbortController();
  const response = await open(aborting.signal);
  if (response.status !== 200) {
    throw new Error(`No stream: ${response.status} ${await response.text()}`);
  }
  assert(response.body !== null);
  const reader = response.body.pipeThrough(new TextDecoderStream()).getReader();
  let text = "";
  let unread = "";
  let lastEventId = "";
  let retryMs: number | null = null;

  /** The next block between empty lines; null at the end. */
  async function nextBlock(): Promise<string | null> {
    for (let end = unread.indexOf("\n\n");; end = unread.indexOf("\n\n")) {
      if (end >= 0) {
        const block = unread.slice(0, end);
        unread = unread.slice(end + 2);
        return block;
      }
      const { value, done } = await reader.read();
      if (done) {
        assertEquals(unread, "", "a stream ends between two blocks");
        return null;
      }
      check(value, "a stream");
      text += value;
      unread += value;
    }
  }

  /** Null for a block without an event. */
  function read(block: string): ServerEvent | null {
    let type = "";
    const data: string[] = [];
    for (const line of block.split("\n")) {
      const [, field = "", value = ""] = /^([^:]*):? ?(.*)$/.exec(line) ?? [];
      if (field === "event") type = value;
      if (field === "data") data.push(value);
      if (field === "id") lastEventId = value;
      if (field === "retry") retryMs = Number(value);
    }
    if (data.length === 0) return null;
    assert(!/^id/m.test(block), "no block of an event has an id");
    const parsed = JSON.parse(data.join("\n"));
    assertEquals(parsed.type, type, "the data say the type again");
    return { type, data: parsed };
  }

  async function next(): Promise<ServerEvent | null> {
    for (let block = await nextBlock(); block !== null; block = await nextBlock()) {
      const event = read(block);
      if (event !== null) return event;
    }
    return null;
  }

  return {
    response,
    get lastEventId() {
      return lastEventId;
    },
    get retryMs() {
      return retryMs;
    },
    get text() {
      return text;
    },
    next,
    async take(count) {
      const events: ServerEvent[] = [];
      while (events.length < count) {
        const event = await next();
        assert(event !== null, `the stream ended behind ${JSON.stringify(events)}`);
        events.push(event);
      }
      return events;
    },
    async untilSynced() {
      const events: ServerEvent[] = [];
      while (true) {
        const event = await next();
        assert(event !== null, "the stream ended before the snapshot");
        events.push(event);
        if (event.type === "existing" && !event.data.hasMore) return events;
      }
    },
    async untilToken() {
      const known = lastEventId;
      while (lastEventId === known || lastEventId === "") {
        const block = await nextBlock();
        assert(block !== null, "the stream ended before a position");
        assertEquals(read(block), null, "an event stands before the position");
      }
      return lastEventId;
    },
    async restOfPart() {
      const events: ServerEvent[] = [];
      for (const known = lastEventId; lastEventId === known;) {
        const block = await nextBlock();
        const event = block === null ? null : read(block);
        if (event !== null) events.push(event);
        if (block === null) break;
      }
      return events;
    },
    async untilEnd() {
      const events: ServerEvent[] = [];
      for (let event = await next(); event !== null; event = await next()) events.push(event);
      return events;
    },
    async close() {
      aborting.abort();
      await reader.cancel();
    },
  };
}
