import type { Resource } from "../resource/model/resource.ts";

export type ComponentNames = ReadonlyMap<Resource, string>;

/** Suffixes of component names. With each suffix, a resource's name must also be unique. */
const suffixes = [
  ...["", "Create", "Update", "Patch", "Replace", "Selection", "ReplaceItem", "UpsertItem"],
  "Groups",
];

const reserved = ["Problem"];

export function componentNames(resources: readonly Resource[]): ComponentNames {
  const names = uniqueNames(resources.map(({ name }) => pascalName(name)), suffixes, reserved);
  return new Map(resources.map((resource, index) => [resource, names[index] ?? ""]));
}

/** Adds numbers to repeated names. Then no name equals another, with or without a suffix. */
export function uniqueNames(
  wanted: readonly string[],
  suffixes: readonly string[],
  reserved: readonly string[],
): readonly string[] {
  const taken = new Set(reserved);
  return wanted.map((base) => {
    let name = base;
    for (let n = 2; suffixes.some((suffix) => taken.has(name + suffix)); n++) name = base + n;
    for (const suffix of suffixes) taken.add(name + suffix);
    return name;
  });
}

/** Converts `order line` to `OrderLine`, and each non-ASCII letter to its code point. */
export function pascalName(text: string): string {
  const name = text.split(/[^\p{L}\p{N}]+/u).filter((word) => word !== "")
    .map((word) => word.charAt(0).toUpperCase() + word.slice(1)).join("")
    .replaceAll(/[^A-Za-z0-9]/gu, (letter) => `U${letter.codePointAt(0)?.toString(16)}`);
  return /^[A-Za-z]/.test(name) ? name : `T${name}`;
}
