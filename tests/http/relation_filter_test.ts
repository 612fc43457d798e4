import { assertEquals } from "@std/assert";
import { eq } from "../../mod.ts";
import { type Service, testOnEngines, testOnEveryEngine } from "../support/http.ts";
import { artists, withShop } from "./include_support.ts";

const ada = { "x-user": "ada" };
const nobody = {};

testOnEveryEngine(
  "a list, its total, a count, groups and an export agree under filters that walk relations",
  (engine) =>
    withShop(engine, { artists: () => eq(artists.name, "ada") }, async (service) => {
      const albums = (filter: string, user: Record<string, string> = ada) =>
        matching(service, filter, user);
      assertEquals(await albums("artist.name==ada"), [1, 2, 3]);
      assertEquals(await albums("artist.name==bob"), [], "outside the scope");
      assertEquals(await albums("artist.name==ada", nobody), [], "no right");
      assertEquals(await albums("artist.name==ada,rating==3", nobody), [5, 6, 7]);
      assertEquals(await albums("tags.label==loud"), [1], "a link is deleted");
      assertEquals(await albums("tags.label==hard"), [], "the tag is deleted");
      assertEquals(await albums("artist.albums.title==z"), [], "the album is deleted");
      assertEquals(await albums("artist.albums.title==a;rating>=4"), [1, 3]);
      assertEquals(await albums("tracks.name=in=(one,three)"), [2, 3]);
    }),
);

testOnEngines(
  "an aggregate reveals nothing of hidden fields at the end of a relation",
  (engine) =>
    withShop(engine, {}, async ({ get }) => {
      const refusal = async (query: string) => {
        const { status, body } = await get(`/api/albums/aggregate?${query}`);
        return [status, body.code, body.detail.replace(/"[\w.]+"/, '""')];
      };
      const unknown = await refusal("filter=artist.nothing==1");
      assertEquals(unknown.slice(0, 2), [400, "FILTER_PARSE_ERROR"]);
      assertEquals(await refusal("filter=artist.secret==1"), unknown);
      assertEquals(await refusal("filter=artist.shout==1"), unknown);
      assertEquals(await refusal("filter=owner.name==ada"), unknown, "not filterable");
      assertEquals(await refusal("having=artist.name==ada"), unknown, "groups have no relations");
      const field = await refusal("groupBy=nothing");
      assertEquals(field.slice(0, 2), [400, "INVALID_PARAMETER"]);
      for (const name of ["secret", "artist.name", "artist.secret", "tags"]) {
        assertEquals(await refusal(`groupBy=${name}`), field, name);
      }
    }),
);

testOnEngines(
  "a filter walks relations 16 times at most, because planners take seconds for a hundred",
  (engine) =>
    withShop(engine, {}, async ({ get }) => {
      const walks = (count: number) => Array<string>(count).fill("tags.label!=x").join(";");
      const own = Array<string>(60).fill("id>0").join(";");
      assertEquals((await get(`/api/albums/count?filter=${own};${walks(16)}`)).body.count, 1);
      for (const path of ["albums/count", "albums", "albums/aggregate"]) {
        const { status, body } = await get(`/api/${path}?filter=${walks(17)}`);
        assertEquals([status, body.code], [400, "FILTER_PARSE_ERROR"], path);
        assertEquals(body.details.position, walks(16).length + 1, "at the first too many");
      }
      const included = await get(`/api/tags?include=albums(filter:${walks(17)})`);
      assertEquals([included.status, included.body.details.include], [400, "albums"]);
    }),
);

/** The ids of a list, after every other request about the rows has agreed. */
async function matching(
  { get }: Service,
  filter: string,
  user: Record<string, string>,
): Promise<readonly number[]> {
  const query = `filter=${encodeURIComponent(filter)}`;
  const { body } = await get(`/api/albums?${query}&totalCount=true`, user);
  const ids: number[] = body.items.map(({ id }: { id: number }) => id);
  const page = await get(`/api/albums?${query}&totalCount=estimated&limit=1`, user);
  const count = await get(`/api/albums/count?${query}`, user);
  const groups = await get(`/api/albums/aggregate?${query}&groupBy=id`, user);
  const lone = await get(`/api/albums/aggregate?${query}`, user);
  const lines = await get(`/api/albums?${query}`, { ...user, accept: "application/x-ndjson" });
  const exported = lines.body.trim().split("\n").filter((line: string) => line !== "");
  assertEquals(
    {
      total: body.totalCount,
      estimated: page.body.totalCount,
      isGuess: "totalCountEstimated" in page.body,
      count: count.body.count,
      lone: lone.body.groups[0].count,
      keys: groups.body.groups.map(({ key }: { key: { id: number } }) => key.id),
      exported: exported.map((line: string) => JSON.parse(line).id),
    },
    {
      total: ids.length,
      estimated: ids.length,
      isGuess: false,
      count: ids.length,
      lone: ids.length,
      keys: ids,
      exported: ids,
    },
    filter,
  );
  return ids;
}
