import { assertEquals } from "@std/assert";
import { createElement } from "react";
import { renderToString } from "react-dom/server";
import { effectScope } from "vue";
import { liveAggregate, liveList, type LiveSeed, rsql } from "../../../exports/client.ts";
import { useLive as useInReact } from "../../../src/client/bindings/react.ts";
import { useLive as useInSolid } from "../../../src/client/bindings/solid.ts";
import { useLive as useInVue } from "../../../src/client/bindings/vue.ts";
import { writeJson } from "../../../src/schema/exact_json.ts";
import { until } from "../support/until.ts";
import { withCollection } from "./collection.ts";
import { type Data, plain, safe, sorted } from "./row_forms.ts";
import { marked, type Stored, wholeNumbers, type World } from "./snow_service.ts";

/** Reads the rows in the order of their ids, each number as the door shows it. */
export type Reader = (world: World) => Promise<readonly Partial<Stored>[]>;

const byId = { orderBy: ["id"] } as const;

/** The rows of a store after it is live. */
async function liveRows<T>({ api }: World, read: (list: ReturnType<typeof listOf>) => Promise<T>) {
  const list = listOf(api);
  const close = list.subscribe(() => {});
  await until(list, ({ status }) => status === "live");
  const rows = await read(list);
  close();
  return rows;
}

/** The rows of a list that a server renders: those of its seed. */
function seededRows<T>(world: World, read: (list: ReturnType<typeof listOf>) => T) {
  return liveRows(
    world,
    (list) => Promise.resolve(read(listOf(world.api, list.seed() ?? undefined))),
  );
}

const listOf = (api: World["api"], seed?: LiveSeed) =>
  liveList(api.snow, { orderBy: ["id"], seed });

/** The doors that show rows. */
export const readers: Readonly<Record<string, Reader>> = {
  "a list of the client": async ({ api }) => (await api.snow.list(byId)).items.map(safe),
  "a get of the client": ({ api }) =>
    Promise.all(wholeNumbers.map(async (id) => safe((await api.snow.get(id)).value))),
  "a filter of the client": ({ api }) =>
    Promise.all(wholeNumbers.map(async (id) => {
      const { items } = await api.snow.list({ filter: rsql`id==${id};id==${BigInt(id)}` });
      assertEquals(items.length, 1);
      return safe(items[0]);
    })),
  "the cursors of the client": async ({ api }) => {
    const rows = [];
    for await (const row of api.snow.all({ limit: 1, orderBy: ["-id"] })) rows.unshift(safe(row));
    return rows;
  },
  "an included row": async ({ api }) => {
    const { items } = await api.snow.list({ include: ["refRow"], orderBy: ["ref"] });
    return items.map(({ refRow }) => safe(refRow));
  },
  "search hits": async ({ api }) => sorted((await api.snow.search({ q: "v", limit: 50 })).items),
  "groups and extremes": async ({ api }) => {
    const { groups } = await api.snow.aggregate({
      ...{ groupBy: ["id"], sum: ["ref", "price"], min: ["price"], max: ["ref"] },
      ...{ avg: ["price"] },
    });
    return groups.map(({ key, min, max, sum }) => {
      assertEquals([sum.ref, sum.price === min.price], [max.ref, true]);
      return { id: key.id, ref: max.ref ?? "", price: min.price ?? "" };
    });
  },
  "a live list": (world) => liveRows(world, (list) => Promise.resolve(list.get().items.map(safe))),
  "React": (world) =>
    seededRows(world, (list) => {
      const Shown = () => {
        const { items } = useInReact(list);
        return createElement("p", null, items.map((row) => `${safe(row).id} `).join(""));
      };
      const [, text = ""] = /<p>(.*)<\/p>/.exec(renderToString(createElement(Shown))) ?? [];
      return text.trim().split(" ").map((id) => ({ id }));
    }),
  "Vue": (world) =>
    seededRows(world, (list) => {
      const scope = effectScope();
      const rows = scope.run(() => useInVue(list).value.items.map(safe));
      scope.stop();
      return rows ?? [];
    }),
  "Solid": (world) => seededRows(world, (list) => useInSolid(list)().items.map(safe)),
  "TanStack DB": ({ api }) =>
    withCollection(api, (rows) => Promise.resolve(wholeNumbers.map((id) => safe(rows.get(id))))),
  "a live aggregate": async ({ api }) => {
    const store = liveAggregate(api.snow, { groupBy: ["id"], max: ["ref"], sum: ["ref"] });
    const close = store.subscribe(() => {});
    const { groups } = await until(store, ({ groups }) => groups.length === wholeNumbers.length);
    close();
    return groups.map(({ key, max, sum }: Data) => {
      assertEquals(sum.ref, max.ref);
      return { id: key.id, ref: max.ref ?? "" };
    });
  },
  "a procedure": ({ api }) =>
    Promise.all(wholeNumbers.map(async (id) => {
      const { id: shown } = await api.snow.rpc.echo({ id });
      return { id: shown };
    })),
  "a computed field": async ({ api }) =>
    (await api.snow.list(byId)).items.map(({ twin }) => ({ id: `${Object(twin).id}` })),
  "MCP": async ({ tool }) => {
    const { data } = await tool("query_rows", { resource: "snow", orderBy: "id", limit: 20 });
    return data.map(safe);
  },
  "an aggregate of MCP": async ({ tool }) => {
    const { data } = await tool("aggregate", { resource: "snow", groupBy: ["id"], max: ["ref"] });
    return data.groups.map(({ key, max }: Data) => ({ id: key.id, ref: max.ref }));
  },
  "the requests of the dashboard": async ({ send }) => {
    const answer = await send("GET", "/__service/ui/api/snow?orderBy=id", undefined, {
      accept: "application/json;numbers=safe",
    });
    return (await answer.json()).items.map(safe);
  },
  "HTTP": async ({ send }) => {
    const { items } = marked(await (await send("GET", "/api/snow?orderBy=id")).text());
    return items.map(plain);
  },
  "an event stream over HTTP": async ({ app }) => {
    const stopping = new AbortController();
    const path = "http://test/api/snow/subscribe";
    const answer = await app.fetch(new Request(path, { signal: stopping.signal }));
    let text = "";
    for await (const part of answer.body?.pipeThrough(new TextDecoderStream()) ?? []) {
      text += part;
      if (text.includes('"hasMore":false')) break;
    }
    stopping.abort();
    const [, rows = ""] = /^event: existing\ndata: (.*)$/m.exec(text) ?? [];
    return marked(rows).items.map(plain);
  },
  "NDJSON": async ({ send }) => {
    const accept = { accept: "application/x-ndjson" };
    const text = await (await send("GET", "/api/snow?orderBy=id", undefined, accept)).text();
    return text.trim().split("\n").map((line) => plain(marked(line)));
  },
  "CSV": async ({ send }) => {
    const path = "/api/snow?orderBy=id&select=id,ref,price,ratio";
    const text = await (await send("GET", path, undefined, { accept: "text/csv" })).text();
    return text.trim().split("\r\n").slice(1).map((line) => {
      const [id = "", ref = "", price = "", ratio = ""] = line.replaceAll("'", "").split(",");
      return { id, ref, price, ratio: `${+ratio}` };
    });
  },
  "a call in code": async ({ app }) => {
    const { items } = await app.as({ id: "ada" }).of("snow").list({ orderBy: "id" });
    return items.map((row) => plain(marked(writeJson(row))));
  },
};
