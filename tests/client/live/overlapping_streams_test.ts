import { assertEquals } from "@std/assert";
import {
  type ApiResource,
  createClient,
  liveList,
  type ResourceClient,
} from "../../../exports/client.ts";
import { fastEnvironment } from "../support/fast_environment.ts";
import { until } from "../support/until.ts";

interface Things extends ApiResource {
  readonly row: { readonly id: number; readonly name: string };
}

/** The streams are written by hand, as their order of time is what the test is about. */
interface WrittenStream {
  /** The subscriptions that it was asked for, with the tokens to continue after. */
  readonly asked: readonly { readonly key: string; readonly resumeFrom: string | null }[];
  write(text: string): void;
}

/** A client whose streams stay unanswered until the test takes them. */
function clientOfStreams() {
  const streams: WrittenStream[] = [];
  const api = createClient<{ things: Things; others: Things }>({
    baseUrl: "http://test",
    environment: fastEnvironment(20),
    async fetch(request) {
      const asked = (await request.json()).subscriptions;
      const { readable, writable } = new TransformStream<Uint8Array, Uint8Array>();
      const writer = writable.getWriter();
      writer.closed.catch(() => {});
      let begin = () => {};
      const isBegun = new Promise<void>((resolve) => begin = resolve);
      streams.push({
        asked,
        write(text) {
          begin();
          writer.write(new TextEncoder().encode(text)).catch(() => {});
        },
      });
      await isBegun;
      return new Response(readable, { headers: { "content-type": "text/event-stream" } });
    },
  });
  return { api, streams };
}

/** Two lists, of which the second has asked for another stream before the first has its rows. */
async function twoStreams() {
  const { api, streams } = clientOfStreams();
  const first = follow(api.things);
  const [one] = await arrived(streams, 1);
  one?.write(":\n\n");
  const second = follow(api.others);
  const [, two] = await arrived(streams, 2);
  if (one === undefined || two === undefined) throw new Error("two streams");
  const close = () => {
    first.end();
    second.end();
  };
  return { one, two, list: first.list, close };
}

function follow(resource: ResourceClient<Things>) {
  const list = liveList(resource);
  return { list, end: list.subscribe(() => {}) };
}

/** What a stream says of the first list: all its rows, and the position of them. */
function rows(name: string, token: string): string {
  const data = { type: "subscription", key: "0", primaryKey: ["id"], types: { id: "integer" } };
  const all = { type: "existing", items: [{ id: 1, name }], hasMore: false };
  return `event: subscription\ndata: ${JSON.stringify(data)}\n\n` +
    `event: existing\ndata: ${JSON.stringify(all)}\n\nid: ${token}\n\n`;
}

async function arrived<T>(list: readonly T[], count: number): Promise<readonly T[]> {
  while (list.length < count) await new Promise((resolve) => setTimeout(resolve, 1));
  return list;
}

Deno.test("a stream that was asked for without a position begins again, whatever came before it", async () => {
  const { one, two, list, close } = await twoStreams();
  assertEquals(two.asked.map(({ resumeFrom }) => resumeFrom), [null, null]);
  one.write(rows("old", "t1"));
  await until(list, ({ items }) => items[0]?.name === "old");
  two.write(rows("new", "t2"));
  await until(list, ({ items }) => items[0]?.name === "new");
  close();
});

Deno.test("what still comes of the stream before is no change of the next one", async () => {
  const { one, two, list, close } = await twoStreams();
  two.write(rows("new", "t2"));
  await until(list, ({ items }) => items.length === 1);
  one.write(rows("old", "t1"));
  await new Promise((resolve) => setTimeout(resolve, 20));
  assertEquals(list.get().items, [{ id: 1, name: "new" }]);
  assertEquals(list.seed()?.token, "t2");
  close();
});
