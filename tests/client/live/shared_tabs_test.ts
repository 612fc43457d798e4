import { assertEquals, fail } from "@std/assert";
import { createClient, liveList, shareTabs } from "../../../exports/client.ts";
import type { WebLocks } from "../../../src/api/web_platform.ts";
import { run } from "../../support/scratch.ts";
import { type Api, withService } from "../outbox/outbox_support.ts";
import { fastEnvironment } from "../support/fast_environment.ts";
import { until } from "../support/until.ts";
import type { ClientEnvironment } from "../../../src/api/client_environment.ts";

Deno.test("a lock that comes after a tab has ended does not keep the streams from the others", () =>
  withService(async ({ db, fetch }) => {
    const environment = fastEnvironment(20);
    const late = lateLocks(environment.locks);
    const identity = crypto.randomUUID();
    const tab = (own: Partial<ClientEnvironment>) => {
      const api = createClient<Api>({
        ...{ baseUrl: "http://test", fetch },
        environment: { ...environment, ...own },
      });
      return { api, end: shareTabs(api, { identity }) };
    };
    const closed = tab({ locks: late.locks });
    // Of the tab itself; that of the streams is asked for then.
    await late.grant();
    closed.end();
    await late.grant();
    const { api, end } = tab({});
    const list = liveList(api.posts);
    const endList = list.subscribe(() => {});
    await until(list, ({ status }) => status === "live");
    await run(db, "INSERT INTO posts (id, title) VALUES (1, 'Tea')");
    const { items } = await until(list, ({ items }) => items.length === 1);
    assertEquals(items.map(({ title }) => title), ["Tea"]);
    endList();
    end();
    await new Promise((resolve) => setTimeout(resolve, 20));
  }));

Deno.test("a window becomes longer in its tab, whichever tab has the stream", () =>
  withService(async ({ db, fetch }) => {
    await run(db, "INSERT INTO posts (id, title) VALUES (1, 'a'), (2, 'b'), (3, 'c'), (4, 'd')");
    const environment = fastEnvironment(20);
    const identity = crypto.randomUUID();
    const tabs = [0, 1].map(() => {
      const api = createClient<Api>({ baseUrl: "http://test", fetch, environment });
      const unshare = shareTabs(api, { identity });
      const list = liveList(api.posts, { orderBy: ["-id"], limit: 1 });
      const end = list.subscribe(() => {});
      return { api, list, end: () => (end(), unshare()) };
    });
    const shown = () =>
      tabs.map(({ list }) => list.get().items.map(({ title }) => title).join("")).join();
    const untilLength = (index: number, length: number) =>
      until(tabs[index]?.list ?? fail(), ({ items }) => items.length === length);
    await Promise.all([untilLength(0, 1), untilLength(1, 1)]);
    for (const [index, expected] of ["dc,d", "dc,dc"].entries()) {
      tabs[index]?.list.loadMore();
      await untilLength(index, 2);
      assertEquals(shown(), expected);
    }
    await tabs[0]?.api.posts.delete(4);
    await Promise.all(
      tabs.map(({ list }) => until(list, ({ items }) => items.at(-1)?.title === "b")),
    );
    assertEquals(shown(), "cb,cb");
    tabs.forEach(({ end }) => end());
    await new Promise((resolve) => setTimeout(resolve, 20));
  }));

/** Locks that say late that they were granted, whatever the signal does in between. */
function lateLocks(
  locks: WebLocks | null | undefined,
): { locks: WebLocks; grant(): Promise<void> } {
  const granted: (() => void)[] = [];
  return {
    locks: {
      async request(name, { signal: _signal, ...options }, work) {
        if (!locks) throw new TypeError("no locks");
        return await locks.request(name, options, async (lock) => {
          await new Promise<void>((resolve) => granted.push(resolve));
          return await work(lock);
        });
      },
    },
    async grant() {
      while (granted.length === 0) await new Promise((resolve) => setTimeout(resolve));
      granted.shift()?.();
      // What the lock does is asked for in the next turns.
      for (let turn = 0; turn < 10; turn++) await new Promise((resolve) => setTimeout(resolve));
    },
  };
}
