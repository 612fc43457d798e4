import type { Dice } from "./dice.ts";
import { days, documents, regions, roles, type TableName, texts } from "./model.ts";
import { mostlyFirst } from "./tree.ts";

export type Row = Readonly<Record<string, unknown>>;
export type Rows = Readonly<Record<TableName, readonly Row[]>>;

/** Random rows of all tables, with NULL in every column that is no key. */
export function randomRows(dice: Dice): Rows {
  const some = <T>(make: () => T) => dice.chance(0.22) ? null : make();
  const text = () => some(() => mostlyFirst(dice, texts));
  const many = (most: number, make: (id: number) => Row): readonly Row[] =>
    Array.from({ length: 3 + dice(most - 2) }, (_row, index) => make(index + 1));
  const person = () => some(() => 1 + dice(8));
  const place = () => ({
    region: some(() => dice.pick(regions)),
    num: some(() => 1 + dice(2)),
  });
  const free = [1, 2, 3, 4, 5, 6, 7, 8];
  return {
    people: many(7, (id) => ({ id, ...randomPerson(dice) })),
    orgs: regions.flatMap((region) => [1, 2].map((num) => ({ region, num })))
      .filter(() => dice.chance(0.7))
      .map((key) => ({ ...key, title: text(), ownerId: person() })),
    // A person has one badge at most.
    badges: many(5, (id) => ({
      id,
      personId: some(() => free.splice(dice(free.length), 1)[0]),
      code: text(),
      not: some(() => dice(4)),
    })),
    posts: many(8, (id) => {
      const document = dice.chance(0.2) ? null : dice(documents.length);
      return {
        id,
        authorId: person(),
        title: text(),
        stars: some(() => dice(5)),
        published: some(() => dice.chance(0.5)),
        day: some(() => dice.pick(days)),
        ...place(),
        data: document === null ? null : documents[document],
        docNo: document,
        gone: some(() => dice.chance(0.2)),
      };
    }),
    tags: texts.filter((_text, index) => dice.chance(index < 4 ? 0.7 : 0.15)).map((id) => ({
      id,
      "the label": text(),
      weight: some(() => dice(4)),
    })),
    post_tags: many(10, (id) => ({
      id,
      postId: some(() => 1 + dice(8)),
      tagId: text(),
    })),
    memberships: many(10, (id) => ({
      id,
      personId: person(),
      ...place(),
      role: some(() => dice.pick(roles)),
    })),
  };
}

/** The columns of a person beside the key. */
export function randomPerson(dice: Dice): Row {
  const some = <T>(make: () => T) => dice.chance(0.22) ? null : make();
  return {
    name: some(() => mostlyFirst(dice, texts)),
    age: some(() => dice(5)),
    active: some(() => dice.chance(0.5)),
    born: some(() => dice.pick(days)),
    bossId: some(() => 1 + dice(8)),
    region: some(() => dice.pick(regions)),
    num: some(() => 1 + dice(2)),
  };
}
