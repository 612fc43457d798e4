import { assertEquals } from "@std/assert";
import { createClient, createOutbox, liveList } from "../../../exports/client.ts";
import { all } from "../../../src/filter/builders.ts";
import { resource } from "../../../src/resource/define/resource_definition.ts";
import { integer, text } from "../../../src/schema/column_builder.ts";
import { table } from "../../../src/schema/table.ts";
import { testOnDialects, withService } from "../../support/http.ts";
import { fastEnvironment } from "../support/fast_environment.ts";
import { until } from "../support/until.ts";

const places = table("places", {
  map: text().primaryKey(),
  number: integer().primaryKey(),
  name: text(),
  version: integer().notNull().default(1),
});

interface Api {
  places: {
    path: "/api/places";
    key: [string, number];
    row: { map: string; number: number; name: string | null };
    create: { map: string; number: number; name?: string };
    update: { name?: string };
    relations: Record<never, never>;
    etag: true;
    procedures: Record<never, never>;
  };
}

const names = [
  "line\nfeed\r\n\r\nid: 7\n\ndata: {}",
  // A regular expression takes these for ends of lines, and JSON does not escape them.
  "\u2028id: stolen\u2028data: {}",
  "\u2029retry: 1\u2029event: removed",
  '"}\\u0000 😀 \ufeff',
];

testOnDialects(
  "rows with line separators and composite keys are listed, and written",
  (engine) =>
    withService(engine, [places], () => ({
      resources: [
        resource(places, {
          id: [places.map, places.number],
          auth: { public: true, create: () => all(), update: () => all() },
          etag: { versionField: places.version },
        }),
      ],
    }), async ({ app }) => {
      const api = createClient<Api>({
        baseUrl: "http://test",
        environment: fastEnvironment(20),
        headers: { "x-user": "ada" },
        fetch: (request) => app.fetch(request),
      });
      const list = liveList(api.places);
      const close = list.subscribe(() => {});
      await until(list, ({ status }) => status === "live");
      for (const [number, name] of names.entries()) {
        await api.places.create({ map: "a,b/c", number, name });
      }
      const shown = await until(list, ({ items }) => items.length === names.length);
      assertEquals(shown.items.map(({ name }) => name), names);

      const outbox = createOutbox(api, { identity: "ada" });
      const write = outbox.update(api.places, ["a,b/c", 2], { name: "new" });
      assertEquals(list.get().items[2]?.name, "new");
      assertEquals(outbox.get().jobs[0]?.ifMatch, shown.items[2]?._etag);
      await write.done;
      assertEquals([list.get().items[2]?.name, list.get().pending], ["new", 0]);
      outbox.close();
      close();
    }),
);
