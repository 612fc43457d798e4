import { assert } from "@std/assert";
import { killAtEveryMoment } from "./kills.ts";

// `deno task check-kills` kills in the sequences of every vendor.
for (const name of ["Lemon Squeezy, one payment", "the ledger", "the ledger, late"]) {
  Deno.test(`kill -9 at every await: ${name}: nothing is lost or done twice`, async () => {
    const moments = await killAtEveryMoment(name);
    assert(moments > 20, `only ${moments} moments`);
  });
}
