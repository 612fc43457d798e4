import { assert, assertEquals, assertRejects } from "@std/assert";
import { all } from "../../src/filter/builders.ts";
import { resource } from "../../src/resource/define/resource_definition.ts";
import { integer, text } from "../../src/schema/column_builder.ts";
import { table } from "../../src/schema/table.ts";
import { type Engine, engines } from "../support/engines.ts";
import { type Service, withService } from "../support/http.ts";
import { openMultiplexed } from "./multiplexed_support.ts";

const notes = table("notes", { id: integer().primaryKey(), title: text() });
const sqlite = engines.find(({ name }) => name !== "postgres") as Engine;

function withNotes(
  seen: (path: string) => void,
  work: (service: Service) => Promise<void>,
): Promise<void> {
  return withService(sqlite, [notes], () => ({
    subscribe: { maxPerUser: 2, maxPerAddress: 2 },
    middleware: [async (context, next) => {
      seen(context.req.path);
      await next();
    }],
    resources: [resource(notes, { id: notes.id, auth: { public: true, create: () => all() } })],
  }), work);
}

function asked(count: number) {
  return Array.from({ length: count }, (_, id) => ({
    key: `k${id}`,
    path: `/api/notes/subscribe?filter=id=gt=${id}`,
  }));
}

Deno.test("the subscriptions of an address are counted, ten for each stream that it may open", () =>
  withNotes(() => {}, async (service) => {
    const first = await openMultiplexed(service, asked(15));
    await assertRejects(() => openMultiplexed(service, asked(6)), Error, "more than 20");
    const second = await openMultiplexed(service, asked(5));
    await first.close();
    await second.close();
    const third = await openMultiplexed(service, asked(50));
    await third.until(() => third.facts.size === 50);
    await third.close();
  }));

Deno.test("the subscriptions of a client that has left are not opened", async () => {
  let opened = 0;
  await withNotes(
    (path) => path.endsWith("/subscribe") && opened++,
    async (service) => {
      const stream = await openMultiplexed(service, asked(50));
      const atOnce = opened;
      await stream.close();
      // These wait for their turn after what the stream has left.
      for (let round = 0; round < 20; round++) {
        assertEquals((await service.get("/api/notes")).status, 200);
        await new Promise((resolve) => setTimeout(resolve, 0));
      }
      assert(atOnce <= 4, `${atOnce} at once`);
      assert(opened < 20, `${opened} of 50 were opened`);
    },
  );
});
