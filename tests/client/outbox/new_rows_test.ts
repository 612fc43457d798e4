import { assertEquals } from "@std/assert";
import {
  createClient,
  createOutbox,
  type LiveList,
  liveList,
  type Outbox,
} from "../../../exports/client.ts";
import { fastEnvironment } from "../support/fast_environment.ts";
import { until } from "../support/until.ts";
import { type Api, type Service, withService } from "./outbox_support.ts";

/** A page with a live list over the real service; `work` runs without a network. */
async function offline(
  work: (page: Page) => void | Promise<void>,
): Promise<void> {
  await withService(async (service) => {
    let isOnline = true;
    const environment = { ...fastEnvironment(20), isOnline: () => isOnline };
    const fetch = (request: Request) => service.fetch(request);
    const api = createClient<Api>({ baseUrl: "http://localhost", fetch, environment });
    const list = liveList(api.posts, { orderBy: ["title"] });
    const close = list.subscribe(() => {});
    await until(list, ({ status }) => status === "live");
    isOnline = false;
    const outbox = createOutbox(api, { identity: "ada" });
    const shown = () => list.get().items.map(({ id, title }) => `${id ?? "new"}: ${title}`);
    await work({
      ...{ api, list, outbox, service, shown },
      async goOnline() {
        isOnline = true;
        outbox.create(api.posts, { id: 9, title: "z" });
        await until(outbox, ({ jobs }) => jobs.length === 0);
        await until(list, ({ pending }) => pending === 0);
      },
    });
    outbox.close();
    close();
  });
}

interface Page {
  readonly api: ReturnType<typeof createClient<Api>>;
  readonly list: LiveList<Api["posts"]["row"]>;
  readonly outbox: Outbox;
  readonly service: Service;
  shown(): readonly string[];
  goOnline(): Promise<void>;
}

Deno.test("a row that a list shows before it is created could not be changed", () =>
  offline(async ({ api, list, outbox, service, shown, goOnline }) => {
    outbox.create(api.posts, { title: "b" });
    outbox.create(api.posts, { id: 7, title: "c" });
    for (const row of list.get().items) {
      outbox.update(api.posts, row._new ?? row.id, { title: `a ${row.title}` });
    }
    assertEquals(shown(), ["new: a b", "7: a c"]);
    const last = list.get().items[1];
    outbox.delete(api.posts, last?._new ?? 0);
    assertEquals(shown(), ["new: a b"]);
    await goOnline();
    assertEquals((await service.posts()).map(({ title }) => title).sort(), ["a b", "z"]);
    const { items } = list.get();
    assertEquals(items.map((row) => [row.title, "_new" in row]), [["a b", false], ["z", false]]);
  }));
