import { assertEquals, assertRejects } from "@std/assert";
import { ServiceError } from "../../../exports/client.ts";
import { keyPath } from "../../../src/client/request/key_path.ts";
import { formatKey, reservedPathSegments } from "../../../src/plan/key.ts";
import { testOnDialects } from "../../support/http.ts";
import { withPosts } from "./posts_service.ts";

const nasty: readonly string[] = [
  ...reservedPathSegments,
  ...["...", ".a", "a/b", "a?b", "a#b", "a%2Fb", "%63ount", "a,b", ",", "a;b", "a&b=c", "+", " "],
  ...["ä", "😀", "\u0001", "\n", "'", '"', "\\", "a:b", "@", "~", "()", "null", "constructor"],
];

Deno.test("a key is spelt in a path as the service spells it", () => {
  for (const text of nasty) {
    assertEquals(keyPath(text), formatKey([text]), text);
    assertEquals(keyPath([text, "x"]), formatKey([text, "x"]), text);
  }
  for (const name of reservedPathSegments) assertEquals(keyPath(name).startsWith("%"), true, name);
  assertEquals(keyPath([7, true]), formatKey([7, true]));
});

testOnDialects(
  "rows with nasty keys are read, changed and deleted, and no others",
  (engine) =>
    withPosts(engine, async (api) => {
      for (const id of nasty) await api.words.create({ id });
      for (const [count, id] of nasty.entries()) {
        assertEquals((await api.words.get(id)).value, { id, count: null });
        assertEquals((await api.words.update(id, { count })).value, { id, count });
        assertEquals((await api.words.replace(id, { count: count + 1 })).value.count, count + 1);
      }
      assertEquals(await api.words.count(), nasty.length);
      for (const [index, id] of nasty.entries()) {
        await api.words.delete(id);
        const { items } = await api.words.list({ limit: 100 });
        assertEquals(items.map(({ id }) => id).sort(), nasty.slice(index + 1).sort());
      }
    }),
);

testOnDialects(
  "composite keys are a list of their values, below a path of several parts",
  (engine) =>
    withPosts(engine, async (api) => {
      const places = api["atlas/places"];
      const keys: [string, string][] = [["a,b", "c"], ["a", "b,c"], [".", ".."], ["", ""], [
        "count",
        "/",
      ]];
      for (const [size, [country, city]] of keys.entries()) {
        await places.create({ country, city, size });
      }
      for (const [size, key] of keys.entries()) {
        const { value, etag } = await places.get(key);
        assertEquals(value, { country: key[0], city: key[1], size });
        await places.update(key, { size: -size }, { ifMatch: etag });
      }
      assertEquals(await places.count({ filter: "size>0" }), 0);
    }),
);

testOnDialects(
  "a key of no characters or of dots has a comma before it, and one that no URL can hold is refused",
  (engine) =>
    withPosts(engine, async (api) => {
      for (const id of ["", ".", ".."]) {
        await api.words.create({ id });
        assertEquals((await api.words.get(id)).value.id, id);
        await api.words.delete(id);
        await assertRejects(() => api.words.get(id), ServiceError, "There is no row");
      }
      await api.words.create({ id: ".." });
      await assertRejects(() => api.words.get("\ud800"), URIError);
      assertEquals(await api.words.count(), 1);
    }),
);
