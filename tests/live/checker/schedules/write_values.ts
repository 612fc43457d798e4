import type { ColumnInfo } from "../../../../src/schema/table_info.ts";
import { edgeValues } from "../../../invariants/filter_worlds.ts";
import type { Chance } from "../chance.ts";
import { hiddenValue, tables } from "./world.ts";

/** So few rows that most writes meet some. */
export const maxThings = 30;
/** Keys of parts. */
export const codes = [
  "",
  "a",
  "A",
  "b",
  "é",
  "\uffff",
  "😀",
  "a,b",
  "%",
  "x y",
  "zz",
  "Z",
  "\u0001",
  "0",
];
/** Whose a row may be. */
export const owners: readonly (string | null)[] = ["ada", "bob", "eve", null];

/** A body for a thing: any value of any kind in any column, or none. */
export function thing(chance: Chance, id: number): Record<string, unknown> {
  const body: Record<string, unknown> = { id, ownerId: chance.pick(owners) };
  for (const column of edited) {
    if (!chance.once(5)) body[column.name] = valueFor(column, chance);
  }
  return body;
}

/** Some columns of a thing, with other values. */
export function patch(chance: Chance): Record<string, unknown> {
  const columns = chance.sample(edited, 1 + chance.below(3));
  const body: Record<string, unknown> = Object.fromEntries(
    columns.map((column) => [column.name, valueFor(column, chance)]),
  );
  if (chance.once(3)) body["ownerId"] = chance.pick(owners);
  return body;
}

/** What may be changed freely. */
export const edited = tables.things.columns.filter(({ name }) =>
  !["id", "ownerId", "version", "deletedAt"].includes(name)
);

/** A value for a column, as a body has it: often one that others have. */
export function valueFor(column: ColumnInfo, chance: Chance): unknown {
  if (chance.once(6)) return null;
  if (column.name === "secret") return hiddenValue(chance.pick(["1", "22", "333"]));
  // Filters compare with small numbers most often.
  if (column.kind === "integer" && !chance.once(4)) return chance.below(20);
  if (column.kind === "text" && !chance.once(3)) return chance.pick(["a", "A", "b", "ab", "É"]);
  return chance.pick(edgeValues[column.kind]);
}

/** A body without one of its members. */
export function without(body: Record<string, unknown>, name: string): Record<string, unknown> {
  const { [name]: _left, ...rest } = body;
  return rest;
}
