import { assert } from "@std/assert";
import { testOnDialects } from "../../support/http.ts";
import { repeats } from "../../support/repeats.ts";
import { runWindowModel } from "./window_model.ts";

testOnDialects(
  "the rows of a stream with a limit are always those of the list, whatever is written",
  async (engine) => {
    const { comparisons, resumed } = await runWindowModel(engine, { seed: 1, steps: repeats(750) });
    assert(comparisons > 100 && resumed > 5, `${comparisons} ${resumed}`);
  },
);
