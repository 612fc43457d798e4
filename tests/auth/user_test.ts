import { assertEquals } from "@std/assert";
import { createUserParser } from "../../src/auth/authorize.ts";
import type { Observation } from "../../src/runtime/runtime.ts";

Deno.test("a user is an object with an id that is a text and not empty", () => {
  const read = createUserParser((observation) => assertEquals(observation, null));
  assertEquals(read({ id: "1", roles: ["editor"] }), { id: "1", roles: ["editor"] });
  for (const value of [undefined, null, "ada", 1, {}, { id: "" }, { id: null }, { id: {} }]) {
    assertEquals(read(value), null);
  }
});

for (const ids of [[1, 2, 0, 3n], ["\ud800", "\udc00"], ["a\0b"]]) {
  Deno.test(`a user with the id ${JSON.stringify(String(ids[0]))} is anonymous, and observed once`, () => {
    const observations: Observation[] = [];
    const read = createUserParser((observation) => observations.push(observation));
    for (const id of ids) assertEquals(read({ id }), null);
    assertEquals(observations, [{
      kind: "notice",
      message:
        "the user's id must be a string without NUL and lone surrogates: the caller counts " +
        "as anonymous",
    }]);
  });
}

Deno.test("an id may have any whole characters", () => {
  const read = createUserParser(() => {});
  for (const id of ["\ufffd", "🦊", "é"]) assertEquals(read({ id }), { id });
});
