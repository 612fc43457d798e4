/** What stands between two empty lines. */
export interface Block {
  /** Null for a block without data: it dispatches nothing. */
  readonly event: { readonly type: string; readonly data: string } | null;
  /** As a client would send it from now on. */
  readonly lastEventId: string;
  /** Whether the block has said so itself. */
  readonly hasId: boolean;
}

/**
 * Reads an event stream as the WHATWG HTML standard says (9.2.6), from pieces of any size: a piece
 * may end within a character, and between the two halves of a line's end.
 */
export class EventSourceParser {
  // The decoder's own way with the mark depends on where the bytes are cut.
  readonly #decoder = new TextDecoder("utf-8", { ignoreBOM: true });
  readonly #takeBlock: (block: Block) => void;
  #lastEventId: string;
  #retryMs: number | null = null;
  #line = "";
  #isAtStart = true;
  /** The last line ended with CR: an LF that comes next belongs to that end. */
  #isAfterReturn = false;
  #type = "";
  #data: string[] = [];
  #hasId = false;
  /** What `id` said; it counts from the end of its block on. */
  #idBuffer: string;

  /** `lastEventId` is what the client knows from the connection before. */
  constructor(takeBlock: (block: Block) => void, lastEventId = "") {
    this.#takeBlock = takeBlock;
    this.#lastEventId = lastEventId;
    this.#idBuffer = lastEventId;
  }

  /** What a client sends when it resumes. */
  get lastEventId(): string {
    return this.#lastEventId;
  }

  /** What `retry` said last. */
  get retryMs(): number | null {
    return this.#retryMs;
  }

  /** Takes the next bytes. */
  push(bytes: Uint8Array): void {
    const text = this.#decoder.decode(bytes, { stream: true });
    if (text === "") return;
    let start = this.#isAtStart && text.startsWith("\ufeff") ? 1 : 0;
    this.#isAtStart = false;
    for (let at = start; at < text.length; at++) {
      const sign = text[at];
      if (sign === "\n" && this.#isAfterReturn && at === start) {
        this.#isAfterReturn = false;
        start = at + 1;
        continue;
      }
      this.#isAfterReturn = false;
      if (sign !== "\n" && sign !== "\r") continue;
      this.#takeLine(this.#line + text.slice(start, at));
      this.#line = "";
      start = at + 1;
      this.#isAfterReturn = sign === "\r";
    }
    this.#line += text.slice(start);
  }

  #takeLine(line: string): void {
    if (line === "") return this.#endBlock();
    const colon = line.indexOf(":");
    if (colon === 0) return;
    const field = colon < 0 ? line : line.slice(0, colon);
    const value = colon < 0 ? "" : line.slice(line[colon + 1] === " " ? colon + 2 : colon + 1);
    if (field === "event") this.#type = value;
    else if (field === "data") this.#data.push(value);
    else if (field === "retry" && /^[0-9]+$/.test(value)) this.#retryMs = Number(value);
    else if (field === "id" && !value.includes("\0")) {
      this.#idBuffer = value;
      this.#hasId = true;
    }
  }

  #endBlock(): void {
    this.#lastEventId = this.#idBuffer;
    const [type, data, hasId] = [this.#type || "message", this.#data, this.#hasId];
    this.#type = "";
    this.#data = [];
    this.#hasId = false;
    if (data.length === 0 && !hasId) return;
    const event = data.length === 0 ? null : { type, data: data.join("\n") };
    this.#takeBlock({ event, lastEventId: this.#lastEventId, hasId });
  }
}
