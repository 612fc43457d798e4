import { assertEquals } from "@std/assert";
import { createUserParser } from "../../src/auth/user.ts";
import type { Observation } from "../../src/runtime/observation.ts";

Deno.test("a user is an object with an id that is a text and not empty", () => {
  const read = createUserParser((observation) => assertEquals(observation, null));
  assertEquals(read({ id: "1", roles: ["editor"] }), { id: "1", roles: ["editor"] });
  for (const value of [undefined, null, "ada", 1, {}, { id: "" }, { id: null }, { id: {} }]) {
    assertEquals(read(value), null);
  }
});

Deno.test("a user with a numeric id is an anonymous caller, and observed once", () => {
  const observations: Observation[] = [];
  const read = createUserParser((observation) => observations.push(observation));
  for (const id of [1, 2, 0, 3n]) assertEquals(read({ id }), null);
  assertEquals(observations, [{
    kind: "notice",
    message: "the user's id is a number: it must be a text, so the caller counts as anonymous",
  }]);
});
