import { assertEquals } from "@std/assert";
import { createCollection } from "@tanstack/db";
import { browserEnvironment, createClient, liveList } from "../../../exports/client.ts";
import { liveCollectionOptions } from "../../../src/client/bindings/tanstack_db.ts";
import type { Overlay } from "../../../src/client/overlays/overlay.ts";
import { overlaysOf } from "../../../src/client/overlays/overlays.ts";
import { handle } from "../../../src/api/handle.ts";
import { run } from "../../support/scratch.ts";
import { type Api, withService } from "../outbox/outbox_support.ts";
import { fastEnvironment } from "../support/fast_environment.ts";
import { until } from "../support/until.ts";

/** Keeps the errors that nothing catches, instead of the end of the process. */
function uncaughtErrors() {
  const messages: string[] = [];
  const listen = (event: ErrorEvent) => {
    event.preventDefault();
    messages.push(event.error.message);
  };
  globalThis.addEventListener("error", listen);
  return { messages, end: () => globalThis.removeEventListener("error", listen) };
}

Deno.test("a list whose function throws closes, and the stream of the others continues", () =>
  withService(async ({ db, fetch }) => {
    await run(db, "INSERT INTO posts (id, title) VALUES (1, 'a')");
    const environment = fastEnvironment(20);
    let streams = 0;
    const api = createClient<Api>({
      ...{ baseUrl: "http://test", environment },
      fetch(request) {
        if (request.url.endsWith("/__service/live")) streams++;
        return fetch(request);
      },
    });
    let isFailing = false;
    const failing = liveList(api.posts, {
      accepts() {
        if (isFailing) throw new Error("accepts fails");
        return true;
      },
    });
    const list = liveList(api.posts);
    const ends = [failing.subscribe(() => {}), list.subscribe(() => {})];
    await until(failing, ({ items }) => items.length === 1);
    await until(list, ({ items }) => items.length === 1);
    const overlay: Overlay = {
      ...{ id: "one", resource: "/api/posts", kind: "update", key: `["1"]`, of: null },
      fields: { title: "ab" },
    };
    const overlays = overlaysOf(api[handle].transport);
    overlays.add(overlay);
    isFailing = true;
    const errors = uncaughtErrors();
    const before = streams;
    await api.posts.create({ id: 2, title: "b" });
    await until(list, ({ items }) => items.length === 2);
    await until(failing, ({ status }) => status === "closed");
    assertEquals([streams, list.get().status], [before, "live"]);
    assertEquals(errors.messages, ["accepts fails"]);
    // The next first listener begins again, with all rows.
    isFailing = false;
    ends[0]?.();
    ends[0] = failing.subscribe(() => {});
    await until(failing, ({ status, items }) => status === "live" && items.length === 2);
    // A write that is shown is no failure of the program that writes.
    isFailing = true;
    overlays.add({ ...overlay, id: "two", fields: { title: "abc" } });
    assertEquals(failing.get().status, "closed");
    assertEquals(list.get().items.map(({ title }) => title), ["abc", "b"]);
    await new Promise((resolve) => setTimeout(resolve, 0));
    assertEquals(errors.messages, ["accepts fails", "accepts fails"]);
    errors.end();
    for (const end of ends) end();
    await new Promise((resolve) => setTimeout(resolve, 20));
  }));

Deno.test("a collection whose key throws closes, and the stream of the others continues", () =>
  withService(async ({ db, fetch }) => {
    await run(db, "INSERT INTO posts (id, title) VALUES (1, 'a')");
    const api = createClient<Api>({
      ...{ baseUrl: "http://test", environment: fastEnvironment(20), fetch },
    });
    const statuses: string[] = [];
    const collection = createCollection(liveCollectionOptions(api.posts, {
      getKey({ id }) {
        if (id === 2) throw new Error("no key");
        return Number(id);
      },
      onStatus: (status) => void statuses.push(status),
    }));
    collection.startSyncImmediate();
    const list = liveList(api.posts);
    const end = list.subscribe(() => {});
    await until(list, ({ items }) => items.length === 1);
    await collection.stateWhenReady();
    const errors = uncaughtErrors();
    for (const id of [2, 3]) {
      await api.posts.create({ id, title: "b" });
      await until(list, ({ items }) => items.length === id);
    }
    assertEquals(list.get().status, "live");
    assertEquals(errors.messages, ["no key"]);
    assertEquals(statuses, ["live", "closed"]);
    errors.end();
    end();
    await collection.cleanup();
    await new Promise((resolve) => setTimeout(resolve, 20));
  }));

Deno.test("a list that the service refuses does not delay the lists after it", () =>
  withService(async ({ fetch }) => {
    const real = browserEnvironment();
    const delays: number[] = [];
    const environment = {
      random: () => 1,
      after(ms: number, work: () => void) {
        delays.push(ms);
        return real.after(ms, work);
      },
    };
    const api = createClient<Api>({ baseUrl: "http://test", environment, fetch });
    for (let turn = 0; turn < 3; turn++) {
      const refused = liveList(api.posts, { filter: JSON.parse('"nosuch==1"') });
      const leave = refused.subscribe(() => {});
      await until(refused, ({ status }) => status === "closed");
      leave();
    }
    const list = liveList(api.posts);
    const leave = list.subscribe(() => {});
    await until(list, ({ status }) => status === "live");
    leave();
    // A stream that fails is opened again after up to a second, with this `random` after a second.
    const ofRequests = new Set([30_000, 45_000]);
    assertEquals(delays.filter((ms) => ms > 100 && !ofRequests.has(ms)), []);
  }));
