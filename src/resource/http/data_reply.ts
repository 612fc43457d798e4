import type { Reply } from "../../protocol/reply.ts";
import { writeJson } from "../../schema/exact_json.ts";
import { jsonFits, maxBytesOfCharacter, textFits } from "../../schema/json_fits.ts";
import { answerTooLarge } from "./answer_bytes.ts";
import { LargeReply, maxBytesAtOnce, type ReplySize } from "./large_reply.ts";

/**
 * A reply with a JSON body that is not written yet. Calls from code take the data as they are;
 * requests get the text of them.
 */
export class DataReply {
  readonly status: number;
  readonly headers: Reply["headers"];
  readonly data: unknown;
  /** Null for the reply to a write, which counts no bytes. */
  readonly size: ReplySize | null;

  /** Writes nothing. */
  constructor(
    status: number,
    data: unknown,
    headers: Reply["headers"],
    size: ReplySize | null = null,
  ) {
    this.status = status;
    this.headers = headers;
    this.data = data;
    this.size = size;
  }

  /** The data, for code. Throws a 422 where a reply that was written would be too large. */
  fittingData(): unknown {
    if (this.size !== null && !isSmall(this.size)) requireFitting(this.data, this.size);
    return this.data;
  }

  /**
   * Writes the body, unless it is so large that it has to be written later. Throws a 422 before it
   * writes one that is too large.
   */
  write(): Reply | LargeReply {
    const { status, headers, data, size } = this;
    if (size === null) return this.writeAll();
    const { limit, counted, part } = size;
    const isLarge = counted === null ? !jsonFits(data, maxBytesAtOnce) : counted > maxBytesAtOnce;
    if (isLarge) return new LargeReply({ status, headers }, data, size);
    if (!isSmall(size)) requireFitting(data, size);
    const reply = this.writeAll();
    // Computed fields are not among the values that were counted.
    const { body: text } = reply;
    if (text.length * maxBytesOfCharacter > limit && !textFits(text, limit)) {
      throw answerTooLarge(limit, part);
    }
    return reply;
  }

  /** Writes the body, whatever its size is. */
  writeAll(): Reply & { readonly body: string } {
    return { status: this.status, headers: this.headers, body: writeJson(this.data) };
  }
}

function isSmall({ counted, limit }: ReplySize): boolean {
  return counted !== null && counted * maxBytesOfCharacter <= limit;
}

function requireFitting(data: unknown, { limit, part }: ReplySize): void {
  if (!jsonFits(data, limit)) throw answerTooLarge(limit, part);
}
