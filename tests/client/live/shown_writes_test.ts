import { assertEquals } from "@std/assert";
import { createClient, liveList } from "../../../exports/client.ts";
import type { Overlay } from "../../../src/client/overlays/overlay.ts";
import { overlaysOf } from "../../../src/client/overlays/overlays.ts";
import { handle } from "../../../src/api/handle.ts";
import { run } from "../../support/scratch.ts";
import { type Api, withService } from "../outbox/outbox_support.ts";
import { fastEnvironment } from "../support/fast_environment.ts";
import { until } from "../support/until.ts";

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
        ...{ id, resource: "/api/posts", kind: "update", key: "1", of: null, fields: { title } },
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
