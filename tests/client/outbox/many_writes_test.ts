import { assertEquals } from "@std/assert";
import { createOutbox, liveList } from "../../../exports/client.ts";
import { fastEnvironment } from "../support/fast_environment.ts";
import { withPostsPage } from "../support/posts_page.ts";
import { until } from "../support/until.ts";

Deno.test("each of many writes computed all rows of each list, and called all listeners", () =>
  withPostsPage(async ({ api }) => {
    const work = { accepts: 0, list: 0, outbox: 0 };
    const list = liveList(api.posts, {
      accepts: () => {
        work.accepts++;
        return true;
      },
    });
    const end = list.subscribe(() => work.list++);
    await until(list, ({ status }) => status === "live");
    const outbox = createOutbox(api, { identity: "" });
    const endOutbox = outbox.subscribe(() => work.outbox++);
    const before = { ...work };
    for (let id = 100; id < 600; id++) {
      const created = outbox.create(api.posts, { id, title: `n${id}` });
      outbox.update(api.posts, created, { title: `m${id}` });
    }
    assertEquals(outbox.get().jobs.length, 1_000, "the outbox contains them");
    assertEquals(list.get().items.at(-1)?.title, "m599", "the list shows them");
    await new Promise((resolve) => queueMicrotask(() => queueMicrotask(() => resolve(null))));
    assertEquals(work.list - before.list, 1, "one call for the list");
    assertEquals(work.accepts - before.accepts, 500, "each row is computed once");
    for (let tick = 0; tick < 50; tick++) await Promise.resolve();
    // They are added, the stored ones are read, and their positions are known.
    assertEquals(work.outbox - before.outbox, 3);
    outbox.close();
    end();
    endOutbox();
  }, { environment: { ...fastEnvironment(20), isOnline: () => false } }));
