import { assert, assertEquals } from "@std/assert";
import { boundedMap } from "../../src/runtime/bounded_map.ts";

Deno.test("boundedMap() never holds more than its capacity, and keeps what is used", () => {
  const map = boundedMap<number, string>(10);
  map.set(-1, "used");
  for (let key = 0; key < 1_000; key++) {
    map.set(key, String(key));
    assert(map.size <= 10);
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
  assertEquals([map.get("a"), map.size], [2, 3]);
});
