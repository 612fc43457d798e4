import { assert, assertEquals } from "@std/assert";
import { matchesDescribed } from "../../../src/filter/match/described_filter.ts";
import { repeats } from "../../support/repeats.ts";
import { testOnDialects } from "../../support/http.ts";
import { checkFilteredLists } from "./filtered_lists.ts";

// A failure is found again by `SEED=… deno task test tests/client/outbox`.
const seed = Number(Deno.env.get("SEED") ?? crypto.getRandomValues(new Uint32Array(1))[0]! >>> 1);

testOnDialects(
  `a client decides random filters as the service's lists do, seed ${seed}`,
  async (engine) => {
    const { differences, decided, undecided } = await checkFilteredLists(engine, {
      ...{ seed, runs: repeats(600) },
    });
    assertEquals(differences, []);
    assert(decided > undecided, `${decided} decided, ${undecided} undecided`);
  },
);

Deno.test("a client leaves to the service what it cannot decide", () => {
  const compared = { kind: "compare", field: "n", type: "integer", operator: "==" } as const;
  const one = { ...compared, values: [1] };
  const undecided = [
    [one, {}],
    [one, { n: "x" }],
    [{ kind: "unknown" } as const, { n: 1 }],
    [{ ...one, operator: "=newer=" }, { n: 1 }],
    [{ ...one, field: "constructor" }, { n: 1 }],
    [{ kind: "and", terms: [one, { kind: "unknown" }] } as const, { n: 1 }],
  ] as const;
  for (const [filter, row] of undecided) assertEquals(matchesDescribed(filter, row), null);
  const either = { kind: "or", terms: [{ kind: "unknown" }, one] } as const;
  assertEquals(matchesDescribed(either, { n: "1" }), true, "one term decides");
  assertEquals(matchesDescribed({ kind: "not", term: one }, { n: null }), true);
});
