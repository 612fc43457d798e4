import { assertEquals } from "@std/assert";
import { createClient, createOutbox, liveList } from "../../../exports/client.ts";
import type { Overlay } from "../../../src/client/overlays/overlay.ts";
import { overlaysOf } from "../../../src/client/overlays/overlays.ts";
import { handle } from "../../../src/api/handle.ts";
import { run } from "../../support/scratch.ts";
import { type Api, withService } from "../outbox/outbox_support.ts";
import { fastEnvironment } from "../support/fast_environment.ts";
import { until } from "../support/until.ts";

Deno.test("a window shows at most `limit` rows, whatever creates wait", () =>
  withService(async ({ db, fetch }) => {
    await run(db, "INSERT INTO posts (id, title) VALUES (2, 'a'), (3, 'c'), (4, 'd')");
    const environment = fastEnvironment(20);
    const api = createClient<Api>({ baseUrl: "http://test", environment, fetch });
    const orders = [["-id"], ["id"], ["title"]] as const;
    const lists = orders.map((orderBy) => liveList(api.posts, { orderBy, limit: 2 }));
    const overlays = overlaysOf(api[handle].transport);
    const create = (id: string, fields: Overlay["fields"]) =>
      overlays.add({ id, resource: "/api/posts", kind: "create", key: null, fields });
    const shown = () =>
      lists.map((list) => {
        const { items, pending, hasMore } = list.get();
        return `${items.map(({ title }) => title).join("")} ${pending} ${hasMore}`;
      });
    const ends = lists.map((list) => list.subscribe(() => {}));
    for (const title of ["x", "y", "z"]) create(title, { title });
    // Before the first rows, too.
    assertEquals(shown(), ["xy 2 false", "xy 2 false", "xy 2 false"]);
    await Promise.all(lists.map((list) => until(list, ({ status }) => status === "live")));
    // The service will give the new rows the greatest ids.
    assertEquals(shown(), ["xy 2 true", "ac 0 true", "ac 0 true"]);
    create("b", { id: 1, title: "b" });
    assertEquals(shown(), ["xy 2 true", "ba 1 true", "ab 1 true"]);
    for (const id of ["x", "y", "z"]) overlays.reject(id);
    assertEquals(shown(), ["dc 0 true", "ba 1 true", "ab 1 true"]);
    overlays.add({ id: "gone", resource: "/api/posts", kind: "delete", key: `["2"]`, fields: {} });
    assertEquals(shown(), ["dc 0 true", "bc 2 true", "bc 2 true"]);
    ends.forEach((end) => end());
    // A connection without lists closes a little later, for a page that opens others.
    await new Promise((resolve) => setTimeout(resolve, 20));
  }));

Deno.test("a window does not show a created row twice while the response is missing", () =>
  withService(async ({ db, fetch }) => {
    await run(db, "INSERT INTO posts (id, title) VALUES (1, 'a'), (2, 'b'), (3, 'c')");
    let respond = () => {};
    const isHeld = new Promise<void>((resolve) => respond = resolve);
    const environment = fastEnvironment(20);
    const api = createClient<Api>({
      ...{ baseUrl: "http://test", environment },
      async fetch(request) {
        const isWrite = request.url.endsWith("/api/posts");
        const response = await fetch(request);
        if (isWrite) await isHeld;
        return response;
      },
    });
    const list = liveList(api.posts, { orderBy: ["-id"], limit: 2 });
    const end = list.subscribe(() => {});
    await until(list, ({ status }) => status === "live");
    const outbox = createOutbox(api, { identity: "" });
    const { done } = outbox.create(api.posts, { title: "new" });
    await until(list, ({ items }) => items.some(({ id }) => id === 4));
    assertEquals(list.get().items.map(({ title }) => title), ["new", "c"]);
    respond();
    await done;
    assertEquals(list.get().items.map(({ title }) => title), ["new", "c"]);
    outbox.close();
    end();
    await new Promise((resolve) => setTimeout(resolve, 20));
  }));

Deno.test("a write that replaces one that is shown is shown over all others", () =>
  withService(async ({ db, fetch }) => {
    await run(db, "INSERT INTO posts (id, title) VALUES (1, 'a')");
    const environment = fastEnvironment(20);
    const api = createClient<Api>({ baseUrl: "http://test", environment, fetch });
    const list = liveList(api.posts);
    const end = list.subscribe(() => {});
    await until(list, ({ items }) => items.length === 1);
    const overlays = overlaysOf(api[handle].transport);
    const shown: unknown[] = [];
    for (const [id, title] of [["one", "ab"], ["other", "ac"], ["one", "acb"]] as const) {
      const overlay: Overlay = {
        ...{
          id,
          resource: "/api/posts",
          kind: "update",
          key: `["1"]`,
          of: null,
          fields: { title },
        },
      };
      overlays.add(overlay);
      shown.push(list.get().items[0]?.title);
    }
    overlays.reject("one");
    shown.push(list.get().items[0]?.title);
    overlays.reject("other");
    shown.push(list.get().items[0]?.title);
    assertEquals(shown, ["ab", "ac", "acb", "ac", "a"]);
    end();
    // A connection without lists closes a little later, for a page that opens others.
    await new Promise((resolve) => setTimeout(resolve, 20));
  }));
