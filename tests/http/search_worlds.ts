import { assertEquals } from "@std/assert";
import type { SearchCase } from "./search_cases.ts";
import { as, createNotes, type Note, withNotes } from "./search_support.ts";
import type { Service } from "../support/http.ts";

/** Cases in which only rows differ that the user may not read: no answer may differ. */
export const worldCases: readonly SearchCase[] = [
  {
    name: "the order of a user's rows does not tell which words stand in other rows",
    run: (engine) =>
      withNotes(engine, async (service) => {
        await createNotes(service, [
          { id: 1, title: "alpha alpha alpha omega" },
          { id: 2, title: "alpha omega omega omega" },
        ]);
        const before = await answers(service, ["alpha omega"]);
        await createNotes(service, others(100, 40, () => "alpha"));
        assertEquals(await answers(service, ["alpha omega"]), before);
        await createNotes(service, others(200, 80, () => "omega omega omega omega"));
        assertEquals(await answers(service, ["alpha omega"]), before);
      }),
  },
  {
    name: "worlds that differ in rows of others alone answer alike, byte by byte",
    run: (engine) =>
      withNotes(engine, async (service) => {
        const random = numbers();
        const text = () => Array.from({ length: 1 + random(9) }, () => words[random(14)]).join(" ");
        for (let world = 0; world < 4; world++) {
          const own = Array.from({ length: 12 }, (_, index) => ({
            ...{ id: 1 + world * 1_000 + index, title: text(), body: text() },
          }));
          await createNotes(service, own);
          const queries = Array.from({ length: 12 }, () => {
            const parts = Array.from({ length: 1 + random(3) }, () => words[random(14)] ?? "");
            return parts.join(random(5) === 0 ? "-" : " ").slice(0, random(3) === 0 ? -1 : 99);
          });
          const before = await answers(service, queries);
          await createNotes(service, others(world * 1_000 + 100, 30 + random(60), text));
          assertEquals(await answers(service, queries), before);
          const filter = `ownerId==bob;id=gt=${world * 1_000 + 120}`;
          await service.send("PATCH", "/api/notes/batch", {
            ...{ filter, patch: { title: "tea tea teapot" } },
          }, as("bob"));
          assertEquals(await answers(service, queries), before);
          await service.send("DELETE", "/api/notes/batch", { filter }, as("bob"));
          assertEquals(await answers(service, queries), before);
        }
      }),
  },
  {
    name: "a word in many rows of others finds the rows of a user, whether these are few or many",
    run: (engine) =>
      withNotes(engine, async (service) => {
        await createNotes(service, [
          { id: 1, title: "common needle" },
          { id: 2, title: "common common", body: "common" },
          { id: 3, title: "common" },
        ]);
        const queries = ["common", "comm", "common needle"];
        const before = await answers(service, queries);
        await insertCommon(service, { from: 10, count: 10_500, owner: "bob" });
        assertEquals(await answers(service, queries), before);
        await insertCommon(service, { from: 20_000, count: 10_500, owner: "eve" });
        assertEquals(await answers(service, queries), before);
        const { body } = await service.get("/api/notes/search?q=common&limit=100", as("eve"));
        assertEquals([body.items.length, body.total], [100, 10_500]);
      }),
  },
];

const words = ["tea", "teapot", "green", "black", "Tee", "café", "cafe", "茶", "茶葉", "x1", "x12"]
  .concat(["node.js", "omega", "o"]);

/** Rows of another user. */
function others(from: number, count: number, text: () => string): readonly Note[] {
  return Array.from({ length: count }, (_, index) => ({
    ...{ id: from + index, ownerId: "bob", title: text(), body: text() },
  }));
}

/** All that the searches answer: status, body, and the headers that do not depend on the time. */
async function answers(service: Service, queries: readonly string[]): Promise<readonly unknown[]> {
  const all: unknown[] = [];
  for (const query of queries) {
    for (const rest of ["", "&highlight=true", "&limit=2&offset=1", "&filter=id%3Dgt%3D3"]) {
      const path = `/api/notes/search?q=${encodeURIComponent(query)}${rest}`;
      const { status, headers, body } = await service.get(path, as("ada"));
      const told = [...headers].filter(([name]) => !/date|request-id/.test(name));
      all.push([path, status, told, JSON.stringify(body)]);
    }
  }
  return all;
}

/** Past the service, since they are many. */
async function insertCommon(
  service: Service,
  { from, count, owner }: { from: number; count: number; owner: string },
): Promise<void> {
  for (let id = from; id < from + count; id += 500) {
    const rows = Array.from({ length: 500 }, (_, index) => `(${id + index}, '${owner}', 'common')`);
    const text = `INSERT INTO notes (id, owner_id, title) VALUES ${rows.join(", ")}`;
    await service.db.driver.query({ text, values: [] });
  }
  await service.app.reindex();
}

/** Numbers below a limit, the same ones in every run. */
function numbers(): (below: number) => number {
  let state = 11;
  return (below) => {
    state = (state * 1_103_515_245 + 12_345) % 2_147_483_648;
    return (state >> 8) % below;
  };
}
