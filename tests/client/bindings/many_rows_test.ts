import { assertEquals } from "@std/assert";
import { createClient } from "../../../exports/client.ts";
import { handle } from "../../../src/api/handle.ts";
import { liveCollectionOptions } from "../../../src/client/bindings/tanstack_db.ts";
import type { Subscriber } from "../../../src/client/live/live_messages.ts";
import { openListsOf } from "../../../src/client/live/open_lists.ts";
import { RowSet } from "../../../src/client/live/row_set.ts";
import type { Api } from "../outbox/outbox_support.ts";
import { createDevice } from "../outbox/outbox_support.ts";

Deno.test("each event of a collection of TanStack DB compared all of its rows", () => {
  const { environment } = createDevice();
  const api = createClient<Api>({ baseUrl: "http://test", environment });
  const subscribers: Subscriber[] = [];
  openListsOf(api.posts[handle].transport).connection = {
    add(subscriber) {
      subscribers.push(subscriber);
      return () => {};
    },
    reopen() {},
  };
  const { sync } = liveCollectionOptions(api.posts, { getKey: ({ id }) => id }).sync;
  const written: unknown[] = [];
  const sink = {
    ...{ begin() {}, commit() {}, markReady() {}, markError() {} },
    write: (message: unknown) => void written.push(message),
  };
  // The cast is safe: the adapter calls only these functions.
  sync(sink as unknown as Parameters<typeof sync>[0]);
  const [subscriber] = subscribers;
  const set = subscriber?.set;
  if (!(set instanceof RowSet)) throw new Error("The adapter has no rows");
  const row = (id: number, title: string) => ({ id, title, log: "", version: 1 });
  const description = { primaryKey: ["id"], types: { id: "integer", title: "text" } };
  subscriber?.receive({ type: "opened", description, asked: 1 });
  const items = Array.from({ length: 5_000 }, (_, id) => row(id, `t${id}`));
  subscriber?.receive({ type: "existing", items });
  subscriber?.receive({ type: "token", token: "1" });
  assertEquals(written.length, 5_000);

  let reads = 0;
  const has = set.rows.has.bind(set.rows);
  set.rows.has = (id) => {
    reads++;
    return has(id);
  };
  for (const name of ["keys", "values", "entries"] as const) {
    const each = set.rows[name].bind(set.rows);
    Object.assign(set.rows, {
      [name]: () => {
        reads += set.rows.size;
        return each();
      },
    });
  }
  Object.assign(set.rows, { [Symbol.iterator]: () => set.rows.entries() });
  subscriber?.receive({ type: "changed", id: 7, item: row(7, "new") });
  subscriber?.receive({ type: "removed", id: 8 });
  subscriber?.receive({ type: "token", token: "2" });
  assertEquals(reads, 0);
  assertEquals(written.slice(5_000), [
    { type: "delete", key: 8 },
    { type: "update", value: row(7, "new") },
  ]);
});
