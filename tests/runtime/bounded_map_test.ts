import { assert, assertEquals } from "@std/assert";
import { boundedMap } from "../../src/runtime/bounded_map.ts";

Deno.test("boundedMap() never holds more than its capacity, and keeps what is used", () => {
  const map = boundedMap<number, string>(10);
  map.set(-1, "used");
  for (let key = 0; key < 1_000; key++) {
    map.set(key, String(key));
    assert([...map.entries()].length <= 10);
    assertEquals(map.get(key), String(key));
    assertEquals(map.get(-1), "used");
  }
  assertEquals(map.get(0), undefined);
});

Deno.test("boundedMap() gives the newest value of a key that is in both generations", () => {
  const map = boundedMap<string, number>(4);
  map.set("a", 1);
  map.set("b", 1);
  map.set("c", 1);
  map.set("a", 2);
  assertEquals([map.get("a"), [...map.entries()].length], [2, 3]);
});

Deno.test("boundedMap() held its number of entries, whatever their size", () => {
  const limits = { maxBytes: 100, bytesOf: (_key: number, bytes: number) => bytes };
  for (let last = 0; last < 200; last++) {
    const map = boundedMap<number, number>(20, limits);
    const sizeOf = (key: number) => (key * 37) % 60;
    for (let key = 0; key <= last; key++) {
      map.set(key, sizeOf(key));
      // What is over half of the bound would drop everything else.
      assertEquals(map.get(key), sizeOf(key) > 50 ? undefined : sizeOf(key));
    }
    // Asking moves entries and may drop others, so that no more than those of one state are found.
    let found = 0;
    for (let key = last; key >= 0; key--) found += map.get(key) ?? 0;
    assert(found <= 100, `${found} bytes after ${last}`);
  }
});

Deno.test("boundedMap() counts the bytes of a key that is set again once", () => {
  const map = boundedMap<string, number>(10, { maxBytes: 100, bytesOf: (_key, bytes) => bytes });
  map.set("kept", 10);
  for (let bytes = 1; bytes <= 40; bytes++) map.set("again", bytes);
  assertEquals([map.get("kept"), map.get("again")], [10, 40]);
  map.set("again", 51);
  assertEquals([map.get("kept"), map.get("again")], [10, undefined]);
  map.set("other", 40);
  assertEquals([map.get("kept"), map.get("other")], [10, 40]);
});
