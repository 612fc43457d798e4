import { assertEquals, assertMatch } from "@std/assert";
import { withObservedService } from "./observed_service.ts";

Deno.test("streams are counted when they open, resume, end and are refused", () =>
  withObservedService({ subscribe: { maxPerAddress: 3 } }, async ({ send, value }) => {
    const kind = (name: string, of: string) => value(`resource_api_streams_${name}{kind="${of}"}`);
    const open = async (path: string, headers: Record<string, string> = {}) => {
      const answer = await send("GET", path, { headers, isStream: true });
      return { status: answer.status, reader: answer.body?.getReader() };
    };
    const first = await open("/api/notes/subscribe");
    const groups = await open("/api/notes/aggregate/subscribe?groupBy=owner&count=true");
    const third = await open("/api/notes/subscribe?filter=title==x");
    assertEquals([first, groups, third].map(({ status }) => status), [200, 200, 200]);
    const refused = await open("/api/notes/subscribe");
    assertEquals(refused.status, 429);
    await refused.reader?.cancel();
    assertEquals(await kind("open", "rows"), 2);
    assertEquals(await kind("open", "aggregates"), 1);
    assertEquals(await kind("refused_total", "rows"), 1);

    await send("POST", "/api/notes", { body: { title: "one" }, headers: { "x-user": "ann" } });
    const token = await untilToken(first.reader, "one");
    assertEquals(await value("resource_api_changes_published_total"), 1);
    for (const { reader } of [first, groups, third]) await reader?.cancel();
    assertEquals(await kind("open", "rows"), 0);
    assertEquals(await kind("open", "aggregates"), 0);

    const again = await open("/api/notes/subscribe", { "last-event-id": token });
    const fresh = await open("/api/notes/subscribe", { "last-event-id": "no token" });
    assertEquals(await value("resource_api_streams_resumed_total"), 1);
    for (const { reader } of [again, fresh]) await reader?.cancel();
    assertEquals(await kind("opened_total", "rows"), 4);
    assertEquals(await kind("ended_total", "rows"), 4);
    assertEquals(await kind("opened_total", "aggregates"), 1);
    assertEquals(await kind("ended_total", "aggregates"), 1);
  }));

/** Reads a stream up to an event that has this text, and gives the token of that event. */
async function untilToken(
  reader: ReadableStreamDefaultReader<Uint8Array> | undefined,
  text: string,
): Promise<string> {
  let read = "";
  const decoder = new TextDecoder();
  while (true) {
    const { value, done } = await reader?.read() ?? { done: true, value: undefined };
    if (done) throw new Error(`The stream ended: ${read}`);
    read += decoder.decode(value, { stream: true });
    const found =
      read.slice(Math.max(0, read.indexOf(text))).includes("\n\n") && read.includes(text)
        ? read.match(/^id: ?(.+)$/gm)?.at(-1)?.replace(/^id: ?/, "")
        : undefined;
    if (found === undefined) continue;
    assertMatch(found, /^\S+$/);
    return found;
  }
}
