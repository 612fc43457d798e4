import { assertEquals } from "@std/assert";
import fc from "fast-check";
import {
  compareDecimals,
  plainDecimal,
  shortestDecimal,
} from "../../src/schema/kinds/number_kinds.ts";
import { compareText } from "../../src/schema/kinds/text_kind.ts";
import {
  divideExactDecimal,
  parseExactDecimal,
  printExactDecimal,
} from "../../src/sql/exact_decimal.ts";
import { fromSortableDecimal, toSortableDecimal } from "../../src/sql/sortable_decimal.ts";

/** In the form that `plainDecimal` gives. */
const plain = fc.tuple(fc.bigInt(-(10n ** 25n), 10n ** 25n), fc.nat(40))
  .map(([units, shift]) => plainDecimal(`${units}e-${shift}`) ?? "0");
const seed = Number(Deno.env.get("SEED") ?? crypto.getRandomValues(new Uint32Array(1))[0]! >>> 1);

Deno.test(`sortable texts have the order of their numbers and keep them, seed ${seed}`, () => {
  const near = plain.chain((one) =>
    fc.oneof(plain, fc.constantFrom(one, `-${one}`.replace("--", ""), `${shortestDecimal(one)}`))
      .map((other) => [one, plainDecimal(other) ?? "0"] as const)
  );
  const property = fc.property(near, ([left, right]) => {
    assertEquals(fromSortableDecimal(toSortableDecimal(left)), shortestDecimal(left));
    assertEquals(
      Math.sign(compareText(toSortableDecimal(left), toSortableDecimal(right))),
      Math.sign(compareDecimals(shortestDecimal(left), shortestDecimal(right))),
      `${left} beside ${right}`,
    );
  });
  fc.assert(property, { seed, numRuns: 5_000 });
});

Deno.test("sortable texts are in order around zero and powers of ten", () => {
  const rising = [
    ...["-1000", "-100.5", "-100", "-99.99", "-10", "-9.5", "-1.01", "-1", "-0.5", "-0.05"],
    ...["-0.0123", "-0.012", "0", "0.012", "0.0123", "0.05", "0.5", "1", "1.01", "9.5", "10"],
    ...["99.99", "100", "100.5", "1000"],
  ];
  assertEquals(rising.map(toSortableDecimal).sort(), rising.map(toSortableDecimal));
  assertEquals(rising.map(toSortableDecimal).map(fromSortableDecimal), rising);
  assertEquals(toSortableDecimal("1.50"), toSortableDecimal("1.5"));
});

Deno.test("a quotient is rounded half away from zero", () => {
  const average = (sum: string, count: bigint, digits: number) =>
    printExactDecimal(divideExactDecimal(parseExactDecimal(sum), count, digits));
  assertEquals(average("1", 3n, 4), "0.3333");
  assertEquals(average("2", 3n, 4), "0.6667");
  assertEquals(average("0.25", 2n, 2), "0.13");
  assertEquals(average("-0.25", 2n, 2), "-0.13");
  assertEquals(average("0.1249", 1n, 2), "0.12");
  assertEquals(average("10", 4n, 0), "3");
  assertEquals(average("0.0000001", 1n, 2), "0.00");
});
