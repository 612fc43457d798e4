import fc from "fast-check";
import { printSyntax } from "../../../filter/print_syntax.ts";
import { randomFilters } from "../../../invariants/random_filters.ts";
import type { Chance } from "../chance.ts";
import type { Interest } from "./client.ts";
import { tables, users } from "./world.ts";

/** What some clients follow: often the same, because groups are shared, and often simple things. */
export function randomInterests(chance: Chance, count: number): readonly Interest[] {
  const filters = [
    ...simple,
    ...fc.sample(randomFilters(filtered), { seed: chance.below(2 ** 31), numRuns: 8 })
      .map(printSyntax),
  ];
  return Array.from({ length: count }, (_, index) => {
    const isOfParts = index % 6 === 5;
    return {
      user: chance.pick(users),
      place: isOfParts ? "parts" as const : "things" as const,
      filter: chance.once(4) ? "" : isOfParts ? chance.pick(ofParts) : chance.pick(filters),
    };
  });
}

const filtered = tables.things.columns.filter(({ name }) =>
  !["version", "deletedAt", "secret"].includes(name)
);

/** Borders that edits cross all the time, and terms that an index can find rows by. */
const simple = [
  ...["age<10", "age>=10", "age!=5", "ok==true", "ok!=true", "name==a", "name!=a", "title>a"],
  ...["title<b", "title<=\uffff", "name==null", "name!=null", "ownerId==ada", "ownerId==bob;age>5"],
  ...["id<15", "id>=15,age<3", "name==a,name==b", "title=icontains=É", "price>1", "score<0.5"],
];

const ofParts = ["label==a", "label!=a", "thingId<15", "code>A", "label==null"];
