import { assert, assertEquals } from "@std/assert";
import { createParser } from "eventsource-parser";
import { Chance } from "./chance.ts";
import { type Block, EventSourceParser } from "./event_source_parser.ts";

/** Everything that has a meaning in a stream, and what is easily taken for it. */
const pieces: readonly string[] = [
  ...[
    "\n",
    "\r",
    "\r\n",
    "\n\n",
    "\r\r",
    "\r\n\r\n",
    ":",
    ": comment\n",
    " ",
    "x",
    "é",
    "👍",
    "\0",
  ],
  ...["data: a\n", "data:b\r\n", "data:  c\r", "data\n", "data:\n", "data: {}\n\n", "datax: y\n"],
  ...["event: added\n", "event:\n", "event: a b\r", "id: 7\n", "id\n", "id:\n", "id: a\0b\n"],
  ...["retry: 100\n", "retry: 1.5\n", "retry: x\n", "retry: -1\n", "unknown: z\n", "\ufeff"],
];

Deno.test("a stream reads the same however its bytes are cut", () => {
  const chance = new Chance(1);
  for (let round = 0; round < 3_000; round++) {
    const bytes = new TextEncoder().encode(randomStream(chance));
    const whole = read([bytes]);
    assertEquals(read(Array.from(bytes, (byte) => Uint8Array.of(byte))), whole);
    const cut = chance.below(bytes.length + 1);
    assertEquals(read([bytes.subarray(0, cut), bytes.subarray(cut)]), whole);
  }
});

Deno.test("events and times to wait are those of another parser", () => {
  const chance = new Chance(2);
  let events = 0;
  for (let round = 0; round < 5_000; round++) {
    // The other parser takes texts, and leaves the line that a CR ends for the next one: the ends
    // are written alike, and cut into pieces of text.
    const text = `${randomStream(chance).replaceAll("\ufeff", "").replace(/\r\n?/g, "\n")}\n\n`;
    const theirs: unknown[] = [];
    const parser = createParser({
      onEvent: ({ event, data }) => theirs.push([event || "message", data]),
      onRetry: (ms) => theirs.push(ms),
    });
    const cut = chance.below(text.length);
    parser.feed(text.slice(0, cut));
    parser.feed(text.slice(cut));
    const { blocks, retryMs } = read([new TextEncoder().encode(text)]);
    const ours = blocks.flatMap(({ event }) => event === null ? [] : [[event.type, event.data]]);
    assertEquals(ours, theirs.filter((entry) => typeof entry !== "number"), JSON.stringify(text));
    assertEquals(retryMs, theirs.findLast((entry) => typeof entry === "number") ?? null);
    events += ours.length;
  }
  assert(events > 5_000, `only ${events} events`);
});

Deno.test("an id counts from the end of its block on, and stays until another one comes", () => {
  const ids = (text: string) => {
    const { blocks, lastEventId } = read([new TextEncoder().encode(text)]);
    return [...blocks.map((block) => block.lastEventId), lastEventId];
  };
  assertEquals(ids("id: 1\n\ndata: a\n\n"), ["1", "1", "1"]);
  assertEquals(ids("id: 1\n\nid: 2\n"), ["1", "1"]);
  assertEquals(ids("id: 1\n\nid:\n\n"), ["1", "", ""]);
  assertEquals(ids("id: 1\n\nid: a\0b\ndata: c\n\n"), ["1", "1", "1"]);
});

function randomStream(chance: Chance): string {
  return Array.from({ length: 1 + chance.below(20) }, () => chance.pick(pieces)).join("");
}

function read(parts: readonly Uint8Array[]) {
  const blocks: Block[] = [];
  const parser = new EventSourceParser((block) => blocks.push(block));
  for (const part of parts) parser.push(part);
  const { lastEventId, retryMs } = parser;
  return { blocks, lastEventId, retryMs };
}
