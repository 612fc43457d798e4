import { assertEquals } from "@std/assert";
import type { JobConflict } from "../../../src/client/outbox/resolve_conflict.ts";
import type { JobStorage } from "../../../src/client/outbox/job.ts";
import { memoryStorage } from "../../../src/client/outbox/memory_storage.ts";
import { calm, createDevice, openPage, type Service, withService } from "./outbox_support.ts";

/** What a page does beyond itself, until it is killed at one of the moments before and after. */
interface Mortal {
  readonly storage: JobStorage;
  readonly service: Service;
  readonly isDead: boolean;
}

function mortal(storage: JobStorage, service: Service, moments: number): Mortal {
  let left = moments;
  const never = new Promise<never>(() => {});
  async function around<T>(work: () => Promise<T>): Promise<T> {
    if (left-- <= 0) await never;
    const result = await work();
    if (left-- <= 0) await never;
    return result;
  }
  return {
    storage: {
      isShared: false,
      all: () => around(() => storage.all()),
      add: (job) => around(() => storage.add(job)),
      update: (order, change) => around(() => storage.update(order, change)),
      remove: (order) => around(() => storage.remove(order)),
    },
    service: { ...service, fetch: (request) => around(() => service.fetch(request)) },
    get isDead() {
      return left < 0;
    },
  };
}

const onConflict = ({ mine, theirs }: JobConflict) => ({ log: `${theirs?.log}${mine?.log}` });

Deno.test("a page that is killed at any moment has lost no write, and none is done twice", () =>
  withService(async (service) => {
    let killed = 0;
    for (let moments = 0;; moments++) {
      const storage = memoryStorage();
      const offline = createDevice();
      offline.isOnline = false;
      const first = openPage(service, offline, { storage });
      const { id } = await newRow(service, "a");
      first.lists.rows.set(`/api/posts/${id}`, { _etag: 'W/"1"', log: "a" });
      await changeElsewhere(service, id, "ax");
      first.outbox.update(first.api.posts, id, { log: "b" });
      const title = `row ${moments}`;
      const creation = first.outbox.create(first.api.posts, { title, log: "c" });
      first.outbox.update(first.api.posts, creation, { log: "cd" });
      first.outbox.update(first.api.posts, creation, { log: "cde" });
      await calm(service);
      first.outbox.close();

      const page = mortal(storage, service, moments);
      const device = createDevice();
      openPage(page.service, device, { storage: page.storage, onConflict });
      await calm(service);
      const wasKilled = page.isDead;

      const last = openPage(service, createDevice(), { storage, onConflict });
      await calm(service);
      assertEquals(last.outbox.get().jobs, [], `moment ${moments}`);
      assertEquals(last.lists.shown.size, 0);
      last.outbox.close();
      const rows = await service.posts();
      const old = rows.find((row) => row.id === id);
      assertEquals([old?.log, old?.version], ["axb", 3], `moment ${moments}`);
      const made = rows.filter((row) => row.title === title);
      assertEquals(
        made.map(({ log, version }) => [log, version]),
        [["cde", 3]],
        `moment ${moments}`,
      );
      if (!wasKilled) break;
      killed++;
    }
    assertEquals(killed > 20, true, `${killed} moments`);
  }));

async function newRow(service: Service, log: string): Promise<{ readonly id: number }> {
  const { api, outbox } = openPage(service, createDevice());
  const row = await outbox.create(api.posts, { log }).done;
  outbox.close();
  return { id: row?.id ?? 0 };
}

async function changeElsewhere(service: Service, id: number, log: string): Promise<void> {
  const { api, outbox } = openPage(service, createDevice());
  await outbox.update(api.posts, id, { log }).done;
  outbox.close();
}

Deno.test("a page shows the overlays of stored writes, and a closed one hides its own", () =>
  withService(async (service) => {
    const device = createDevice();
    device.isOnline = false;
    const storage = memoryStorage();
    const first = openPage(service, device, { storage });
    const { id } = first.outbox.create(first.api.posts, { title: "Tea" });
    await calm(service);
    first.outbox.close();
    assertEquals(first.lists.shown.size, 0);
    const second = openPage(service, device, { storage });
    await calm(service);
    assertEquals(second.lists.shown.get(id)?.fields, { title: "Tea" });
    assertEquals(second.outbox.get().waiting, 1);
    second.outbox.close();
  }));
